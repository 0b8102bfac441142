"""What rules allow, run for real: lines made from the table of programs, those that a policy allows in two shells in a folder with
canaries. No canary may be opened, written or executed, since no rule's text names one. A sample here; all 20,000 where LONG=1.

The lines are harmless to the machine: only names inside of the folder, no network (a namespace without one where the kernel grants it,
and no address but a closed port of this machine), no interpreters, bounded time.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

import portion
from case import ProcessTest
from daemon import LIMIT_S

HERE = pathlib.Path(__file__).resolve().parent
LONG = os.environ.get("LONG") == "1"
LINES = 20000 if LONG else 600

# What runs its arguments as code, needs a server, ends processes or asks a terminal has no place among generated lines.
LEFT_OUT = set("kill ssh scp sftp rsync docker podman kubectl oc gh node nodejs deno bun perl ruby php lua Rscript java python python3 pypy3 npx "
               "bunx npm pnpm yarn pip pip3 cargo go gofmt gpg openssl mkfifo chown chgrp popd pushd man ctest ninja cmake bat jest vitest mocha "
               "pytest ruff mypy black flake8 pylint isort eslint stylelint prettier tsc shred tty free history sqlite3 wget".split())
GIT = ("log show diff status grep blame ls-files branch cat-file config format-patch archive rev-parse describe shortlog bisect submodule rebase "
       "clone fetch remote ls-remote add checkout restore apply mv rm worktree stash difftool merge tag notes").split()
READ = ("a.txt", "b.txt", "src/x.c", "data.json", ".env", "./.env", "src/../.env", "$PWD/.env", "secrets/key", "secrets", ".", "src", "sub", "*", "*.txt",
        ".e*", ".en?", "{.env,a.txt}", ".e[n]v", ".[[:alpha:]]nv", "*/key", "~/.ssh/id_rsa", "$HOME/.ssh/id_rsa", "$F", "$_", '".env"', ".e\\nv", "list", "s.sed", "wide\\ name", "~+/.env",
        "HEAD:.env", "@.env", "file://$PWD/.env", "-", "./*", "se*/k*", "a.tar", "-f.env", "--file=.env", "../elsewhere", "..", "../work/.env", "~", "HEAD")
WRITE = ("out", "build/out", "locked.txt", "./locked.txt", "src/secrets/key", "src/secrets/new", "src/secrets", "src", ".git/hooks/pre-commit", ".git/hooks", ".git/config",
         "~/.bashrc", "~/.profile", "$HOME/.bashrc", "lock*", "{locked.txt,out}", ".g*/config", "a.txt", "-o", "./--output=x", "~", ".git", ".GIT/../.git/config", "sub")
RUN = ("./evil", "evil", "sub/evil", "'sh ./evil'", "exec=./evil", "$PWD/evil", "sh", "'!./evil'", "core.pager=./evil", "alias.x='!./evil'", "/dev/null", "a.txt", "evil.mk", "s.awk",
       "core.fsmonitor=./evil", "ext::./evil", "diff.external=./evil")
TEXT = ("1", "x", "KEY", "1,2p", "a", "10", ".env", "n", "HEAD", "-1", "''", "stash@{0}")
SCRIPTS = {
    "sed": ("p", "1,2p", "s/o/x/", "'1e ./evil'", "e", "'w locked.txt'", "'s/o/w/w locked.txt'", "'r .env'", "'1r .env'", "'s/one/.\\/evil/e'", "'R .env'", "'$!d'", "'y/a/b/;1e ./evil'",
            "'s/[/]e/x/'", "':a;w locked.txt'", "-f s.sed", "'1{w locked.txt' -e '}'", "'a\\' -e 'w locked.txt'", "'s|x|y|;W locked.txt'"),
    "awk": ("1", "'{print $1}'", "'$1 > 0'", "'{print > \"locked.txt\"}'", "'BEGIN{system(\"./evil\")}'", "'BEGIN{\"./evil\"|getline}'", "'BEGIN{while((getline l<\".env\")>0)print l}'",
            "'BEGIN{ARGV[1]=\".env\";ARGC=2}{print}'", "'{print|\"./evil\"}'", "-f s.awk", "'/a|b/'", "'BEGIN{print /\"/; system(\"./evil\"); print /\"/}'",
            "'BEGIN{x=1;x++ /1;print \"p\" > \"locked.txt\";y=1/1}'", "'BEGIN{printf \"x\" >> \"src/secrets/new\"}'", "'BEGIN{f=\"system\";@f(\"./evil\")}'"),
    "jq": (".", "'.a'", "-n 'input'", "-R .", "--rawfile x .env '$x'", "-f m.jq", "'import \"m\" as m; 1'"),
}


class Maker:
    """Lines from the table's rows."""

    def __init__(self, table, rng):
        self.rng = rng
        self.rows = []
        known = set()
        for names, operands, options in table:
            words = names.split(" ", 1)
            if len(words) == 2 and ("," in words[1] or words[0] in known):
                programs = ["%s %s" % (words[0], sub) for sub in words[1].split(",") if words[0] == "git" and sub in GIT]
            else:
                programs = [name for name in names.split(" ") if name not in LEFT_OUT]
                known.update(programs)
            here = [p for p in programs if p.split(" ")[0] in ("cd", "echo", "printf", "test", "true", "type") or shutil.which(p.split(" ")[0])]
            if here:
                self.rows.append((here, [w.rstrip("*") for w in operands.split(" ") if w not in ("whole", "local", "nested")], options.split(" ") if options else []))
        self.programs = sorted({p.split(" ")[0] for here, _, _ in self.rows for p in here if p[0].isalpha()})

    def value(self, marks):
        pick = self.rng.random()
        pool = RUN if "!" in marks else WRITE if ">" in marks or "~" in marks else READ if any(m in marks for m in "<@/") else TEXT
        if pick < 0.15:
            pool = self.rng.choice((RUN, WRITE, READ, TEXT))
        return self.rng.choice(pool)

    def option(self, text):
        bare = len(text) - len(text.lstrip("-")) == 0
        end = next((i for i in range(1, len(text)) if text[i] in "=<>/@%(&!:~+^?$;"), len(text))
        name, marks = text[:end], text[end:]
        if bare:
            return name + ("=" + self.value(marks) if marks.startswith("=") else "")
        if name.startswith("--") and self.rng.random() < 0.3:
            name = name[:self.rng.randint(3, len(name))]  # abbreviated
        takes = any(m in marks for m in "=<>/@%") or (marks.startswith("!") and self.rng.random() < 0.5)
        value = self.value(marks) if takes else ""
        if not takes:
            return name
        if name.startswith("--"):
            word = name + self.rng.choice(("=", " ")) + value
        else:
            word = self.rng.choice(("", "", "-n", "-r")) + name + self.rng.choice(("", " ")) + value
            word = word.replace("-n-", "-n").replace("-r-", "-r")
        return '"%s"' % word if self.rng.random() < 0.05 and " " not in word and "'" not in word and '"' not in word else word

    def operand(self, role, program):
        base = program.split(" ")[0]
        kind = next((k for k in SCRIPTS if base.endswith(k)), None)
        if role == "script" and kind:
            return self.rng.choice(SCRIPTS[kind])
        pool = {"text": TEXT, "read": READ, "tree": READ, "carry": READ, "move": READ + WRITE, "write": WRITE, "remove": WRITE, "dest": WRITE, "output": WRITE,
                "any": READ + WRITE, "code": READ + WRITE, "pack": READ + WRITE, "stem": WRITE, "enter": ("src", "sub", "secrets", "../elsewhere", ".", "..", "~", "-", "$PWD", ".git/hooks", "build")}.get(role, TEXT + READ)
        return self.rng.choice(pool)

    def command(self):
        programs, operands, options = self.rng.choice(self.rows)
        program = self.rng.choice(programs)
        words = [program] if program != "git" else ["git", *([self.option(self.rng.choice(options))] if self.rng.random() < 0.4 else []), self.rng.choice(GIT)]
        tail = []
        for _ in range(self.rng.choice((0, 0, 1, 1, 2)) if options and program != "git" else 0):
            tail.append(self.option(self.rng.choice(options)))
        count = self.rng.choice((1, 1, 2, 2, 3))
        for index in range(count):
            tail.append(self.operand(operands[min(index, len(operands) - 1)], program))
        if program == "tar" and self.rng.random() < 0.8:
            tail.insert(0, self.rng.choice(("cf out.tar", "-cf /dev/null", "xf a.tar", "tf a.tar", "-xf a.tar -C", "czf build/o.tgz", "cf locked.txt")))
        if program == "ln" and self.rng.random() < 0.7:
            tail.insert(0, "-s")
        if self.rng.random() < 0.1:
            self.rng.shuffle(tail)
        return " ".join(words + tail)

    def line(self):
        r = self.rng.random()
        one = self.command()
        if r < 0.55:
            return one
        two = self.command()
        pool = (one + "; " + two, one + " && " + two, one + " | " + two, "echo %s | xargs %s" % (self.rng.choice(READ + WRITE), one),
                "ls -a | xargs " + one, "cat list | xargs " + one, "printf '%%s\\n' %s | xargs %s" % (self.rng.choice(READ + WRITE), one),
                "cd %s && %s" % (self.operand("enter", "cd"), one), "(cd %s && %s); %s" % (self.operand("enter", "cd"), one, two), "! " + one,
                one + " # a comment", "(%s)" % one, "LANGUAGE=../../x " + one, "TZ=./evil " + one, "timeout 2 " + one, one + " > " + self.rng.choice(WRITE),
                one + " < " + self.rng.choice(READ[:12]), "ln -s %s d; cat d/%s" % (self.rng.choice((".", "secrets", "..", "sub", "~")), self.rng.choice((".env", "key", "work/.env", "id_rsa"))),
                "cp -r %s n; cat n/%s" % (self.rng.choice((".", "secrets", "sub")), self.rng.choice((".env", "key"))),
                "mv %s n && cat n/key" % self.rng.choice(("secrets", "sub", "src")),
                "touch -- %s; %s *" % (self.rng.choice(("--compress-program=./evil", "-olocked.txt", "--checkpoint-action=exec=./evil", "-f.env")), one.split(" ")[0]),
                "echo %s; cat $_" % self.rng.choice(READ), "printf -v F .env; cat $F", "cp evil %s && git status" % self.rng.choice(WRITE), "cp -r ../elsewhere n && cd n && git status",
                "cp evil.mk Makefile && make", "find . -name '%s' -print0 | xargs -0 %s" % (self.rng.choice(("*", "*.txt", ".e*")), one), "ls -a | xargs -I{} %s {}" % one,
                "%s \"$(cat <<'EOF'\n%s\nEOF\n)\"" % (one, self.rng.choice(("it's", "f() `./evil`", "a) $(./evil)", '"(" ) $(./evil)', "x\nEOF\n./evil", "'(' # )"))),
                "cd %s && make%s" % (self.operand("enter", "cd"), self.rng.choice(("", " -C ..", " test", " -C ../..", " -f ../Makefile"))))
        return self.rng.choice(pool)


def policy(programs):
    rules = ["+Bash(%s *)" % p for p in programs] + ["+Bash(cat *)", "+Bash(xargs *)", "+Edit(/build/**)"]
    rules += ["-Read(./.env)", "-Read(./secrets/**)", "-Read(~/.ssh/**)", "-Edit(./locked.txt)", "-Edit(./src/secrets/**)", "-Edit(./.env)", "-Edit(./secrets/**)",
              "-Edit(~/.ssh/**)"]
    return sorted(set(rules))


class Arguments(ProcessTest):
    judge = os.environ.get("INBOX_POLLER_JUDGE")

    def decided(self, lines, rules, box):
        file = self.folder / "policy"
        file.write_text("\n".join(rules) + "\n")
        out = subprocess.run([self.judge, str(file), str(box / "work"), str(box / "home")], input="\0".join(lines) + "\0", capture_output=True, text=True,
                             check=True, timeout=LIMIT_S)
        return out.stdout.split()

    def run_in_box(self, lines, box):
        program = [sys.executable, "-B", str(HERE / "canaries.py"), str(box)]
        alone = ["unshare", "-rnpf", "--kill-child"]
        if shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0:
            program = alone + program
        done = subprocess.run(["nice", *program], input=json.dumps(lines), capture_output=True, text=True, timeout=6 * LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return json.loads(done.stdout)

    def setUp(self):
        super().setUp()
        if not self.judge:
            self.skipTest("INBOX_POLLER_JUDGE is not set")
        if sys.platform != "linux":
            self.skipTest("canaries are watched with inotify")

    def test_the_canaries_sing_when_they_are_touched(self):
        box = self.folder / "box"
        touching = ["cat .env", "cat -- *r*/key", "grep -r KEY .", "tar cf build/x.tar .", "sort -o locked.txt a.txt", "sed -i s/k/x/ locked.txt", "cp a.txt .git/hooks/pre-commit",
                    "cp a.txt .git/hooks/new", "./evil", "git -c core.fsmonitor=./evil status", "cd ../elsewhere && git status", "awk -f s.awk", "sed -n -f s.sed a.txt",
                    "make -f evil.mk", "touch src/secrets/new", "cat ~/.ssh/id_rsa", "rm locked.txt", "chmod 600 ~/.bashrc", "base64 .env > build/x", "make -C ..", "cd .. && make", "cat .[[:alpha:]]nv"]
        silent = ["true", "cat a.txt", "ls -laR", "git status", "git diff", "stat .env", "find . -name '.e*'", "make", "echo .env"]
        found = {number for number, _, _ in self.run_in_box(touching + silent, box)}
        self.assertEqual([touching[n] for n in range(len(touching)) if n not in found], [])
        self.assertEqual([silent[n - len(touching)] for n in sorted(found) if n >= len(touching)], [])

    def test_what_is_allowed_touches_no_canary(self):
        table = subprocess.run([self.judge, "--table"], capture_output=True, text=True, check=True).stdout
        maker = Maker([tuple(row.split("\t")) for row in table.splitlines()], random.Random(portion.seed()))
        lines = list(dict.fromkeys(maker.line() for _ in range(LINES)))
        while len(lines) < LINES:
            lines = list(dict.fromkeys(lines + [maker.line() for _ in range(LINES - len(lines))]))
        box = self.folder / "box"
        rules = policy(maker.programs)
        decisions = self.decided(lines, rules, box)
        allowed = [line for line, decision in zip(lines, decisions) if decision == "allow"]
        print("\nfigures: %d lines from %d programs, %d asked, %d denied, %d allowed and run in two shells" % (
            len(lines), len(maker.programs), decisions.count("ask"), decisions.count("deny"), len(allowed)))
        self.assertGreater(len(allowed), len(lines) // 10)  # otherwise it would say nothing
        found = self.run_in_box(allowed, box)
        self.assertEqual(["%s: %s touched %s" % (shell, allowed[number], ", ".join(what)) for number, shell, what in found], [])


if __name__ == "__main__":
    unittest.main()
