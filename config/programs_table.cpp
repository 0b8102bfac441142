// The table of docs/rules.md. Sources: the manuals of the programs (GNU, BSD where it differs), and public collections
// of options that execute or write.
#include "config/programs.hpp"

namespace inbox_poller::config {
namespace {

constexpr ProgramRow rows[] = {
    // Text in, text out
    {"echo true false : pwd seq sleep basename dirname expr uname whoami id nproc arch tty uptime free printenv "
     "which whereis type ps pgrep kill tr realpath readlink test [",
     "text*", ""},
    {"printf", "text*", "-v!="},
    {"date", "text*", "-s!= --set!= -f< --file< -r< --reference< -d= --date="},
    {"history", "text*", "-a! -w! -r! -n! -s! -p!"},
    // Reading
    {"cat rev", "read*", ""},
    {"tac", "read*", "-s= --separator="},
    {"bat", "read* whole", "--pager!= --map-syntax= -l= --language= --theme= -r= --line-range= -H="},
    {"head tail", "read*", "-n= -c= --lines= --bytes= -s= --pid="},
    {"nl", "read*", "-b= -d= -f= -h= -i= -l= -n= -s= -v= -w="},
    {"wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum tsort zcat bzcat xzcat comm", "read*",
     "--files0-from<"},
    {"cut paste", "read*", "-d= -f= -c= -b= --delimiter= --fields="},
    {"fold fmt pr", "read*", "-w="},
    {"expand unexpand", "read*", "-t="},
    {"column", "read*", "-s= -c= -N="},
    {"od", "read*", "-A= -j= -N="},
    {"hexdump hd strings", "read*", "-f< -n= -s= -e="},
    {"join", "read*", "-t= -1= -2= -o= -e= -a= -v= -j="},
    {"base64 base32", "read*", "-w= --wrap= -o>> --output>>"},
    {"xxd", "read output", "-c= -g= -l= -s= -o= -n="},
    {"cmp", "read*", "-i= -n="},
    {"diff", "carry*",
     "-r+ --recursive+ -x= -X< -U= -C= -I= -F= -W= -L= --label= --from-file<< --to-file<< --exclude= --exclude-from<"},
    {"sdiff diff3", "read*", "-o>> --output>> --diff-program!="},
    {"sort", "read*",
     "-k= -t= -S= -T= --key= --field-separator= --buffer-size= --temporary-directory= --parallel= --batch-size= "
     "--sort= --files0-from< --random-source< -o>> --output>> --compress-program!="},
    {"uniq", "read output", "-f= -s= -w= --skip-fields= --skip-chars= --check-chars="},
    {"shuf", "read*", "-i= -n= -o>> --output>> --random-source<"},
    {"ls", "read*", "--ignore= --hide= --width="},
    {"stat", "read*", "-c= --format= --printf="},
    {"df du", "read*", "-t= -B= -d= --max-depth= -X< --exclude-from< --files0-from< --exclude="},
    {"file", "read*", "-f< --files-from< -m!= --magic-file!= -C! --compile! -F= -P= -e="},
    {"tree", "read*", "-o>> -I= -P= -L= --filelimit= --charset="},
    {"less more", "read*",
     "-o>> -O>> --log-file>> --LOG-FILE>> -k!= --lesskey-file!= --lesskey-src!= --lesskey-content!= +!"},
    {"man", "read*",
     "-P!= --pager!= -H! --html! -p!= --preprocessor!= -C!= --config-file!= -M!= --manpath!= -X! --gxditview!"},
    // Searching
    {"grep egrep fgrep zgrep", "text read*",
     "-e=: --regexp=: -f<: --file<: -A= -B= -m= --max-count= --after-context= --before-context= --label= -r+ -R+ "
     "--recursive+ --dereference-recursive+ -d+= --directories+= -D= --include=& --exclude= --exclude-dir= "
     "--exclude-from<"},
    {"rg", "text tree* whole",
     "-e=: --regexp=: -f<: --file<: --files: --type-list: --pre!= --hostname-bin!= -g= --glob= --iglob= -t= "
     "--type= -T= --type-not= --type-add=^ -A= -B= -C= -m= --max-count= -j= --threads= -M= --max-columns= -r= "
     "--replace= -d= --max-depth= -E= --encoding= --sort= --sortr= --colors= --color= --context= --after-context= "
     "--before-context= --ignore-file< -.^ --hidden^ -u^ --unrestricted^"},
    {"ag ack", "text tree* whole", "--pager!= --ackrc!= -A= -B= -m= --hidden^ -u^ --unrestricted^ -a^ --all-types^"},
    {"fd fdfind", "text read* whole",
     "-x! --exec! -X! --exec-batch! -e= -t= -E= -d= -S= -c= -j= --base-directory/ --search-path<"},
    {"find", "read*",
     "-exec! -execdir! -ok! -okdir! -delete! -fprint>> -fprint0>> -fprintf>> -fls>> -files0-from< -name= -iname= "
     "-path= -ipath= -wholename= -regex= -iregex= -lname= -type= -xtype= -maxdepth= -mindepth= -newer= -size= "
     "-mtime= -mmin= -ctime= -atime= -perm= -user= -group= -printf= -regextype="},
    // Programs in their arguments
    {"sed gsed", "script read*", "-e%: --expression%: -f!=: --file!=: -i~ --in-place~ -I~ --line-length="},
    {"awk gawk mawk nawk original-awk", "script any*",
     "-F= -v= --field-separator= --assign= -e%: --source%: -f!=: --file!=: -i!= --include!= -l!= --load!= -E!=: "
     "--exec!=: -o! --pretty-print! -d! --dump-variables! -p! --profile! -D! --debug! -W!="},
    {"jq", "script read* whole",
     "-f<: --from-file<: -L!= --library-path!= --arg== --argjson== --slurpfile=< --rawfile=< --argfile=< --indent="},
    {"yq", "script read* whole", "-i~ --inplace~ --in-place~ -s! --split-exp! -f<: --from-file<: -o= -p= -I="},
    {"sqlite3", "any script*", "-cmd!= -init!= -A!"},
    // Writing
    {"cp", "carry* dest",
     "-t> --target-directory> -S= --suffix= --sparse= --no-preserve= -r+ -R+ -a+ --recursive+ --archive+ -l<> -s<> "
     "--link<> --symbolic-link<>"},
    {"mv", "move* dest", "-t> --target-directory> -S= --suffix="},
    {"ln", "move* dest", "-t> --target-directory> -S= --suffix="},
    {"install", "carry* dest",
     "-t> --target-directory> -S= --suffix= -m= -o= -g= --mode= --owner= --group= --strip-program!="},
    {"tee mkdir mkfifo unlink", "write*", "-m= --mode="},
    {"touch truncate", "write*", "-d= -t= -s= --size= --date= -r< --reference<"},
    {"rm rmdir shred", "remove*", "--random-source<"},
    {"chmod chown chgrp", "write*", "--reference<"},
    {"dd", "text*", "if=< of=>>"},
    {"csplit", "read text*", "-f> --prefix> -b!= --suffix-format!= -n= --digits="},
    {"split", "read write", "-b= -l= -n= -C= -a= -t= -f> --prefix> --filter!="},
    {"patch", "write*", "-i< --input< -o>> --output>> -d/ --directory/ -p= -r>> --reject-file>> -B= -D= -F= -z="},
    {"gzip gunzip bzip2 bunzip2 xz unxz lzma zstd unzstd", "move*",
     "-S= --suffix= -o>> --files<? --files0<? --output-dir-flat>> --output-dir-mirror>>"},
    {"tar bsdtar gtar", "tree*",
     "-f= --file= -C/> --directory/> -T!= --files-from!= -X< --exclude-from< -I!= --use-compress-program!= "
     "--to-command!= --checkpoint-action!= -F!= --info-script!= --new-volume-script!= --rsh-command!= "
     "--rmt-command!= -g>> --listed-incremental>> --index-file>> --volno-file>> --transform!= --xform!= -s!= "
     "--add-file<< -V= --label= -N= --newer= --after-date= --newer-mtime= -K= --starting-file= -L= "
     "--tape-length= -H= --blocking-factor= -b= --format= --owner= --group= --mode= --mtime= --strip-components= "
     "--exclude="},
    {"zip", "write tree*",
     "-T! -TT!= --unzip-command!= -O>> --output-file>> -lf>> --logfile-path>> -i= -x= -b= -t= -n="},
    {"unzip", "read text*", "-d> -P="},
    // The net
    {"curl", "any*",
     "-o>> --output>> -O! --remote-name! --remote-name-all! -J! --remote-header-name! --output-dir>> -c>> "
     "--cookie-jar>> -D>> --dump-header>> --trace>> --trace-ascii>> --stderr>> --libcurl>> --hsts>> --alt-svc>> "
     "--etag-save>> -K!= --config!= --unix-socket!= --abstract-unix-socket!= --engine!= -T< --upload-file< -E< "
     "--cert< --key< --cacert< --netrc-file< -d@ --data@ --data-binary@ --data-raw= --data-urlencode@ --json@ -F@ "
     "--form@ -b@ --cookie@ -w@ --write-out@ -H@ --header@ -u= -A= -e= -X= -x= -m= -r= -C= -y= -Y= -z= -Q= -P= -t= "
     "--user= --user-agent= --request= --max-time= --retry= --connect-timeout="},
    {"wget", "any*",
     "-O>> --output-document>> -o>> --output-file>> -a>> --append-output>> -P>> --directory-prefix>> -i< "
     "--input-file< -e!= --execute!= --config!= --use-askpass!= --save-cookies>> --load-cookies< --post-file< "
     "--body-file< --warc-file>> --rejected-log>> --hsts-file>> -U= --header= -T= -t= -w= -Q= -l= -A= -R= -D= -I= "
     "-X= -B= --user-agent="},
    {"ssh", "rest*", "-o!= -F!= -E>> -S!= -I!= -i< -J= -p= -l= -L= -R= -D= -b= -c= -e= -m= -O= -Q= -W= -w= -B="},
    {"scp sftp", "carry* dest", "-S!= -o!= -F!= -D!= -b!= -i< -P= -l= -c= -J= -X= -r+"},
    {"rsync", "tree* dest",
     "-e!= --rsh!= --rsync-path!= -M!= --remote-option!= --daemon! --config!= --files-from< --exclude-from< "
     "--include-from< --password-file< --log-file>> --backup-dir>> --write-batch>> --only-write-batch>> "
     "--read-batch< --link-dest< --copy-dest< --compare-dest< -T> --temp-dir> --partial-dir> -f= --filter@ "
     "--exclude= --include= --timeout= --contimeout= --bwlimit= --max-size= --min-size= --max-delete= --max-alloc= "
     "-B= --block-size= --modify-window= --suffix= --compress-choice= --zc= --compress-level= --zl= --skip-compress= "
     "--checksum-choice= --cc= --checksum-seed= --chmod= --chown= --usermap= --groupmap= --address= --port= "
     "--sockopts= --outbuf= --info= --debug= --out-format= --log-file-format= --protocol= --iconv= --stop-after= "
     "--stop-at= --early-input< --copy-as="},
    {"openssl", "verb any*",
     "-out>> -keyout>> -in< -inkey< -engine!= -provider!= -provider-path!= -config!= -writerand>>"},
    {"openssl engine", "any*", "!"},
    {"gpg", "any*",
     "-o>> --output>> --homedir!= --options!= --photo-viewer!= --agent-program!= --dirmngr-program!= "
     "--keyboxd-program!= --exec-path!= --logger-file>> --attribute-file>> --log-file>> --status-file>> -r= -u="},
    // git
    {"git", "sub any*",
     "-c!= --config-env!= -C/ --bare! --exec-path! --git-dir!=/ --work-tree!=/ --namespace= --super-prefix= "
     "--attr-source="},
    {"git "
     "log,show,diff,whatchanged,diff-tree,diff-index,diff-files,range-diff,reflog,rev-list,show-branch",
     "any*",
     "--output>> --ext-diff! --no-index+ -S= -G= -O< --format= --since= --until= --author= --grep= --after= "
     "--before= "
     "--date="},
    {"git format-patch,send-email,request-pull", "any*",
     "-o>> --output-directory>> --output>> --ext-diff! --signature-file< --sendmail-cmd!= --smtp-server!= "
     "--to-cmd!= --cc-cmd!= --header-cmd!= --compose!"},
    {"git "
     "shortlog,cherry,count-objects,var,gc,fsck,prune,prune-packed,pack-refs,repack,verify-tag,verify-pack,check-attr,"
     "check-mailmap,check-ref-format,hash-object,patch-id,stripspace,fmt-merge-msg,merge-tree,commit-tree,mktree,mktag,"
     "write-tree,update-ref,rerere,sparse-checkout,get-tar-commit-id,version",
     "any*", "--output>> --stdin-paths"},
    {"git lfs", "any*", "--output>> install! update! uninstall! migrate! clone!"},
    {"git interpret-trailers", "any*", "--in-place~ --trailer= --where= --if-exists= --if-missing= --output>>"},
    {"git bundle", "text write text*", "--version= --output>>"},
    {"git merge-file", "write*", "-L= --diff-algorithm= --marker-size= --output>>"},
    {"git stash", "any*", "--output>> --ext-diff! -m= --message= --pathspec-from-file<"},
    {"git grep", "text any*",
     "--output>> -O! --open-files-in-pager! --ext-grep! --no-index! --untracked! -e=: -f<: -A= -B= -C= -m= "
     "--max-depth= "
     "--threads="},
    {"git blame,annotate", "any*", "--output>> --contents< -S< --ignore-revs-file< -L= -C -M --date="},
    {"git add,stage", "any*", "--output>> -e! --edit! -p -i --pathspec-from-file< --chmod="},
    {"git commit,tag,notes", "any*",
     "--output>> -m= --message= -F< --file< -t< --template< --author= --date= -C= -c= --reuse-message= --fixup= "
     "--squash= "
     "--cleanup= --trailer= --pathspec-from-file< --local-user="},
    {"git rebase,merge,pull,cherry-pick,revert,am", "any*",
     "--output>> -x!= --exec!= --upload-pack!= -s!= --strategy!= -X= --strategy-option= --onto= -m= --message= "
     "-F< --file<"},
    {"git fetch,ls-remote,remote,submodule,fetch-pack", "any*",
     "--output>> --upload-pack!= -u!= --exec!= --template!= -c!= --config!= --separate-git-dir!= --reference/ "
     "--recurse-submodules foreach! add! set-url! -o= --origin= -b= --branch= --depth= -j= --jobs= --filter= "
     "--shallow-since= --negotiation-tip= --refmap= --bundle-uri!="},
    {"git clone", "any write",
     "--output>> --upload-pack!= -u!= --exec!= --template!= -c!= --config!= --separate-git-dir!= --reference/ "
     "--reference-if-able/ "
     "-o= --origin= -b= --branch= --depth= -j= --jobs= --filter= --shallow-since= --shallow-exclude= --bundle-uri!= "
     "--server-option= --revision= --ref-format="},
    {"git push,send-pack,archive", "any*",
     "--receive-pack!= --exec!= --remote!= -o>> --output>> --add-file< --add-virtual-file= --prefix= --format="},
    {"git config", "text set*",
     "--output>> -f!= --file!= --blob!= -e! --edit! --add! --replace-all! --unset! --unset-all! --rename-section! "
     "--remove-section! set! unset! edit! rename-section! remove-section!"},
    {"git bisect", "any*", "--output>> run! replay! visualize! view!"},
    {"git worktree", "text write*", "--output>> --template!= --separate-git-dir!= -b= -B= --reason= --expire="},
    {"git init", "write*",
     "--output>> --template!= --separate-git-dir!= -b= --initial-branch= --object-format= --ref-format="},
    {"git cat-file,show-ref,rev-parse", "any*", "--output>> --textconv! --filters! --git-path= --prefix="},
    {"git "
     "status,branch,ls-files,ls-tree,check-ignore,describe,merge-base,name-rev,for-each-ref,symbolic-ref,verify-commit",
     "text*", "--output>>"},
    {"git checkout,restore,switch,mv,rm,reset,clean,update-index,read-tree,checkout-index", "write*",
     "--output>> -b= -B= -c= -C= -s= --source= --orphan= --pathspec-from-file< --conflict= -e= --exclude= "
     "--index-output>> "
     "--prefix>"},
    {"git apply", "any*",
     "--output>> --exclude= --directory> --unsafe-paths! --include= --build-fake-ancestor>> -p= -C= --whitespace="},
    {"git "
     "difftool,mergetool,filter-branch,instaweb,daemon,web--browse,upload-pack,receive-pack,http-backend,shell,hook,"
     "credential,p4,svn,gui,citool,help,bugreport,for-each-repo,replay",
     "rest*", "!"},
    // Code and its tools: what they run in the working folder is what they are for
    {"node nodejs deno bun perl ruby php lua Rscript java", "rest*", ""},
    {"python python3 pypy3", "rest*", "-m("},
    {"npx bunx", "program rest* whole", "-c!= --call!= -p= --package= --shell!= --node-options!= --userconfig!="},
    {"npm pnpm yarn", "verb rest* whole",
     "--prefix/ -C/ --dir/ --cwd/ --script-shell!= --shell!= --node-options!= --userconfig!= --globalconfig!= "
     "--use-yarnrc!= --git!= --editor!= --viewer!= --browser!= --registry!= --init-module!= -w= --workspace= -F= "
     "--filter="},
    {"npm exec,x", "program rest* whole", "-c!= --call!= -p= --package="},
    {"npm explore", "text rest* whole", "-c!= --call!="},
    {"npm config,c", "text*", "set! edit! delete! fix!"},
    {"npm set", "set*", ""},
    {"pip pip3", "verb any*",
     "-r< --requirement< -c< --constraint< -t> --target> --root> --prefix> --src> --log>> --report>> --python!= "
     "-i!= --index-url!= --extra-index-url!= -f!= --find-links!= --trusted-host!= --config-settings= --cert< "
     "--client-cert< --cache-dir>> -d>"},
    {"pip config", "text*", "set! edit! unset! --editor!="},
    {"pytest", "any* whole",
     "--debug>> -p!. -c!. --config-file!. --rootdir!. --confcutdir= -o= --override-ini= --junitxml>> --junit-xml>> "
     "--basetemp>> --pdbcls!. --log-file>> --report-log>> --html>> -k= -m= -n= -W= --tb= --maxfail= --durations= "
     "--deselect= --ignore= --color= -r="},
    {"eslint stylelint", "any* whole",
     "-c!. --config!. --rulesdir!. --resolve-plugins-relative-to!. --parser!. --plugin!. -f!. --format!. -o>> "
     "--output-file>> --cache-file>> --cache-location>> --fix<> --ext= --rule= --ignore-pattern= --ignore-path< "
     "--env= --global= --max-warnings="},
    {"prettier", "any* whole",
     "--config!. --plugin!. -w<> --write<> --cache-location>> --ignore-path< --parser= --log-level="},
    {"tsc", "any* whole",
     "-p!. --project!. -b!. --build!. --outDir> --outFile> --declarationDir> --tsBuildInfoFile> --generateTrace>> "
     "--generateCpuProfile>> --target= -t= --module= -m= --lib= --rootDir= --jsx="},
    {"jest vitest mocha", "any* whole",
     "-c!. --config!. --root!. --rootDir!. -r!. --require!. --reporter!. --reporters!. --globalSetup!. "
     "--setupFiles!. --setupFilesAfterEnv!. --testRunner!. --runner!. --transform!. --resolver!. --env!. "
     "--environment!. --testEnvironment!. --filter!. --preset!. --testResultsProcessor!. --outputFile>> "
     "--coverageDirectory>> --cacheDirectory>> -t= -w= --maxWorkers= --testNamePattern="},
    {"ruff mypy black flake8 pylint isort", "any* whole",
     "--config!. --config-file!. --settings-path!. --rcfile!. --load-plugins!. --init-hook!= --python-executable!= "
     "--install-types! -o>> --output-file>> --output>> --cache-dir>> --junit-xml>> --html-report>> --xml-report>> "
     "--txt-report>> --fix<>"},
    {"shellcheck clang-format", "any* whole", "-i<>"},
    {"gofmt", "any* whole", "-w<> -r= -cpuprofile>>"},
    {"make gmake", "text*",
     "-f!. --file!. --makefile!. -I!. --include-dir!. -C/ --directory/ --eval!= -E!= -W= -o= --old-file= "
     "--what-if= --assume-old= SHELL=! MAKEFLAGS=! MAKEFILES=! .SHELLFLAGS=! CC=! CXX=! LD=! AR=! AS=! RM=! "
     "PYTHON=! INSTALL=!"},
    {"cmake", "any* whole",
     "-P!= -E! -C!. --toolchain!. -D@ -S!. -B> --build> --install> --graphviz>> --trace-redirect>> -G= -A= -T= -t= "
     "--target="},
    {"ctest", "text* whole",
     "-S!= -SP!= --script!= --build-and-test! --test-dir!. -O>> --output-log>> --output-junit>> -R= -E= -L= -LE= "
     "-j="},
    {"ninja", "text* whole", "-C/ -f!. -t!= -j= -k= -l= -w= -d="},
    {"cargo", "verb any* whole",
     "--config!= -C!. --manifest-path!. -Z!= --target-dir> --out-dir>> --artifact-dir>> --lockfile-path>> -p= "
     "--package= -F= --features= --bin= --example= --test= --bench= --profile= --target= -j= --jobs= --color="},
    {"cargo init,new", "write*", "--vcs= --edition= --name= --registry="},
    {"go", "verb any* whole",
     "-exec!= -toolexec!= -vettool!= -overlay!= -modfile!. -C!. -compiler!= -asmflags!= -gccgoflags!= -ldflags@ "
     "-o> -coverprofile> -cpuprofile> -memprofile> -blockprofile> -mutexprofile> -trace> -outputdir> -pkgdir> "
     "-run= -count= -timeout= -p= -mod= -tags= -bench= -benchtime= -cpu= -fuzz= -parallel= -covermode= -coverpkg= "
     "-buildmode="},
    {"go env", "text*", "-w! -u!"},
    // Containers and clusters
    {"docker podman", "verb text* whole",
     "--config!= -H!= --host!= -c!= --context!= --tlscacert< --tlscert< --tlskey< -l= --log-level="},
    {"docker run,create,exec", "rest* whole",
     "-v!. --volume!. --mount!= --privileged! --pid!= --device!= --cap-add!= --security-opt!= --userns!= --ipc!= "
     "--uts!= --volumes-from!= --runtime!= --cidfile>> --env-file< --entrypoint= -e= --env= -p= --publish= --name= "
     "-w= --workdir= -u= --user= --network= --platform= -m= --memory= --cpus= -h= --hostname= -l= --label= "
     "--restart= --add-host="},
    {"docker build,buildx", "read* whole",
     "-f< --file< -o>> --output>> --iidfile>> --metadata-file>> --secret!= --ssh!= --cache-to!= -t= --tag= "
     "--build-arg= --target= --platform= --progress= --label= --network= --cache-from= --builder= --allow!="},
    {"docker compose", "rest* whole", "-f!. --file!. --project-directory!. --env-file< -p= --project-name= --profile="},
    {"docker cp", "carry* dest", ""},
    {"docker save,export,import,load,plugin,context,swarm,stack,config,secret", "any* whole",
     "-o>> --output>> -i< --input< -c!. --compose-file!."},
    {"kubectl oc", "verb text* whole",
     "--kubeconfig!= -s!= --server!= --context= --cluster= -n= --namespace= --user= --token= --as= "
     "--certificate-authority< --client-key< --client-certificate< --cache-dir>> --profile-output>> "
     "--output-directory>> -f@ --filename< -k< -o@ --output@ --template@ -l= -c= --enable-exec! "
     "--enable-alpha-plugins! --helm-command!= --tail= --since= -p@ --patch-file<"},
    {"kubectl logs,top", "text* whole", "-f -n= --namespace= -c= --tail= --since= -l="},
    {"kubectl exec,run,debug,attach,proxy,port-forward", "rest*", ""},
    {"kubectl apply,create,delete,replace,patch,edit,diff,kustomize,set,wait", "any*", ""},
    {"kubectl cp", "carry* dest", ""},
    {"kubectl config", "text*",
     "set! set-cluster! set-context! set-credentials! unset! use-context! delete-cluster! delete-context! "
     "delete-user! rename-context!"},
    {"gh", "verb any* whole",
     "-R= --repo= -t= --title= -b= --body= -F@ --body-file< --json= -q= --jq= -T= --template= -D>> --dir>> "
     "--input< -X= -H= -f= -L= -s= --state= -l= --label= -a= --author="},
    {"gh repo", "text any write*", ""},
    {"gh release", "any*", "-O>> --output>> -p= --pattern="},
    {"gh alias,config,extension", "text* whole", "set! import! delete! install! exec! create! upgrade! remove!"},
    {"cd pushd chdir popd", "enter", ""},
};

}  // namespace

std::span<const ProgramRow> program_rows() { return rows; }

}  // namespace inbox_poller::config
