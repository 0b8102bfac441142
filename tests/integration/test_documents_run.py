"""Every command line of README.md, docs/how-to and docs/reference is typed, as it stands, beside a daemon with data in it, and prints
what the text says of it: the lines of blocks, and each `inbox-poller ...` in a sentence or a table.

ELSEWHERE has the lines that cannot be typed here, each with the reason, PROMISED what the text says of a line. A row that fits no line
any more is an error. Words in capitals stand for what a person puts there; paths outside of the home folder lie in the test's own.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import unittest
from typing import NamedTuple

import hooks
import team as wire
from daemon import Daemon, LIMIT_S, Missing, wait_for, write_private
from engine import Engine, free_port
from mcp import TOOLS_ASKED
from test_command_lines import ROOT, World
from transcript import shown
from typed import CTRL_C, Shell, without_comment

PAGES = [ROOT / "README.md", *(page for part in ("*.md", "how-to/*.md", "reference/*.md") for page in sorted((ROOT / "docs").glob(part)))]
PAGES.remove(ROOT / "docs" / "tutorial.md")  # typed into one shell by test_tutorial.py

ELSEWHERE = {
    **{"^%s " % program: "needs systemd as the first process: deploy/test --long --only systemd" for program in ("systemctl", "loginctl")},
    **{"^%s" % program: "builds and installs: deploy/test, and tests/package of a bare Debian" for program in (
        "./deploy/install-deps", "./deploy/build", "./deploy/package", "cmake --install")},
    "^deploy/notify/watch ": "stays, and wants a desktop or a server: test_notices.py",
    "^npm install -g |^npx --package ": "installs what deploy/package builds: test_npm.py",
    "^./deploy/run demo": "builds, then plays the story: tests/demo/test_story.py",
    "^sudo ": "changes this machine",
    "^scp ": "wants another machine",
    r"docker compose": "starts containers; test_compose.py compares their files with the program",
    r"^NTFY_URL=": "a server in the network; test_notices.py has one of its own",
    **{"^inbox-poller %s$" % name: "names a command that wants arguments" for name in (
        "trace", "send", "broadcast", "approve", "allow", "mode", "shutdown", "nodes acl", "inbox", "mailbox")},
}


class Said(NamedTuple):
    """What the text says of a line: `prints` is a pattern. `keys` are pressed at a terminal, each after a pattern or a condition. Where a
    line prints nothing, `then` shows what it has done."""
    text: str
    prints: str = ""
    code: int = 0
    keys: tuple = ()
    stdin: str = ""
    then: str = ""


TEAM = """[team]
name = "my-team"
[permissions]
allow = ["Bash(git status *)"]
[shutdown]
tmux = ["tmux", "-S", "%s"]
"""
ENDED = (("has_the_mail", CTRL_C),)
RUNS = (("serves", CTRL_C),)
STOP = json.dumps(hooks.stop("SESSION"))
ASKED_BACK = ((r"\[y/N\] $", "y\r"),)
PROMISED = {
    # answer-requests.md
    "inbox-poller pending":
        Said("each open request, whole, with the commands that answer it",
             r"asks to use Bash with\n +command:\n +\| make deploy-\d+\n(.*\n)* +inbox-poller approve .*perm-\d+\n +inbox-poller deny "),
    "inbox-poller pending --list": Said("one line each", r"^KEY .*\n\S+ +\S+ +my-team +ada +permission +Bash: make deploy-\d+\n$"),
    "inbox-poller approve ID": Said("allows it once", r"^approved: permission perm-\d+ of ada \(Bash: make deploy-\d+\), team my-team\n$"),
    "inbox-poller approve ID --always":
        Said("also allows the same again, until the lead's session ends", r"from now on in this session: Bash\(make deploy-\d+\)\n"),
    'inbox-poller deny ID --reason "use the staging server"': Said("The worker reads your reason.", "^denied: permission perm-"),
    "inbox-poller approve ID --input '{\"command\":\"npm test\"}'":
        Said("You can change a command before you allow it", "^approved: permission perm-"),
    "inbox-poller approve --similar-to ID":
        Said("lists the requests first, then wants your yes", r"Bash: make deploy-\d+(.*\n)*.*\[y/N\] y\n(.*\n)*approved: ", keys=ASKED_BACK),
    "inbox-poller top":
        Said("shows requests, workers, chat and decisions, and takes your answers by key", r"\[1:requests.*2:.*3:.*4:", keys=((r"\[1:requests", "q"),)),
    "inbox-poller pending --watch": Said("opens the same program on its page of requests", r"\[1:requests", keys=((r"\[1:requests", "q"),)),
    "inbox-poller decisions":
        Said("who decided what, when, and by which rule", r"perm-1 +builder +Bash: git status +approved +rule +Bash\(git status \*\)"),
    "inbox-poller trace ID":
        Said("the life of one request",
             r"^permission perm-\d+\n  \w+, team [a-z-]+, about Bash: make deploy-\d+\n  it is pending: (.*\n)*.*request\.pending"),
    "inbox-poller hook install --target workers --scope project":
        Said("This hook runs before each call of a worker.", "PreToolUse(.*\n)*.*written", keys=ASKED_BACK),
    # deliver-to-your-lead.md
    "inbox-poller lead busy": Said("at the beginning of a turn", "busy"),
    "inbox-poller lead idle": Said("at its end", "idle"),
    "inbox-poller status":
        Said("shows the method in use",
             r"(?m)^team (my-team|farm)\n(.*\n)*  delivery  nothing is available \(--long says why\).*\n"),
    "inbox-poller lead run --restart 5 -- claude -p --input-format stream-json --output-format stream-json --verbose --replay-user-messages":
        Said("A signal gives 128 and its number.", r'"init"(.*\n)*.*I see\.', 130, keys=((r"I see\.", CTRL_C),)),
    "inbox-poller lead run --protocol lines -- my-lead":
        Said("A program that reads lines", "The build is green", 130, ENDED, then='cat "$GOT"'),
    "inbox-poller wait --idle --mail --timeout 10min --quiet; exec inbox-poller hook":
        Said("To keep it running", r'"decision":"block".*The build is green', stdin=STOP),
    "inbox-poller wait --mail --timeout 1h": Said("Exit code 0 means mail", "1 message waits for the lead"),
    "inbox-poller hook install":
        Said("The command shows the change to the client's settings, and asks you.", r"SessionStart(.*\n)*.*\[y/N\] y\n(.*\n)*.*written",
             keys=ASKED_BACK),
    "inbox-poller hook uninstall": Said("removes them", r"-.*SessionStart(.*\n)*.*: removed", keys=ASKED_BACK),
    "inbox-poller hook install --print": Said("only shows the settings", '"SessionStart"'),
    "inbox-poller recv --follow --format json | my-lead":
        Said("The fields are `message_key`, `from`, `summary`, `type`, `text` and `attempts`.", r'"message_key":"[0-9a-f]+","from":"ada"',
             130, ENDED, then='cat "$GOT"'),
    # guide-workers.md
    'inbox-poller send ada "Please rebase on main."': Said("the command prints the key", r"for ada: inbox-poller trace [0-9a-f]+\n"),
    'inbox-poller broadcast "The build is green again."': Said("The message goes out in the lead's name.", r"for ada: .*\n.*for builder: "),
    "guide-workers.md inbox-poller trace KEY": Said("shows whether the worker has read the message", "it is done: builder has taken it"),
    "inbox-poller assign 12 builder":
        Said("makes builder the owner of task 12, and sends a message", r"^task 12 \(Port the parser\) is builder's"),
    "inbox-poller mode --all acceptEdits":
        Said("You can send modes up to `modes.ceiling` of your team file.", r"ada is told to work in mode acceptEdits"),
    'inbox-poller allow "Bash(make test)"': Said("The rule ends with the lead's session.", r"Bash\(make test\)"),
    "inbox-poller wait --idle --timeout 30min": Said("Exit code 0 means that no worker is busy", "no worker is working"),
    # stop-workers.md
    'inbox-poller shutdown builder --reason "all done" --wait':
        Said("`--wait` shows each step, and returns 0 at the end.", "builder: the shutdown is (requested|approved)(.*\n)*.*builder: the shutdown is done"),
    "inbox-poller shutdown --all --force-after 60s": Said("Stop all workers", "ada(.*\n)*.*builder"),
    "inbox-poller wait --exited --timeout 5min": Said("Stop all workers", "no worker is left"),
    "inbox-poller shutdown builder --remind-after 5s": Said("To have the worker reminded after 5 s", "builder"),
    "inbox-poller shutdown builder --force-after 60s": Said("continue without its consent after a minute", "builder"),
    "inbox-poller shutdown builder --force": Said("stop it at once, without asking", "builder"),
    "inbox-poller shutdowns": Said("see how far each shutdown is", "builder"),
    # redis.md, several-machines.md
    "inbox-poller nodes acl --team demo --leader h1 --leader h9 --follower h2 --secrets ~/redis-secrets > users.acl":
        Said("prints an ACL file with one user for each node",
             r"user default (.*\n)*user node-h1 on #[0-9a-f]{64} (.*\n)*user node-h2 (.*\n)*-rw------- .*node-h9",
             then="cat users.acl; ls -l ~/redis-secrets"),
    "inbox-poller nodes acl --team farm --leader h1 --follower h2 --follower h3 --secrets ~/redis-secrets > users.acl":
        Said("`users.acl` is the `aclfile` of your Redis.", r"user node-h1 on #[0-9a-f]{64} (.*\n)*user node-h3 ", then="cat users.acl"),
    "several-machines.md inbox-poller check-config":
        Said("whether the Redis is reached, and lets this node in", r"(?s)^(?!.*WARNING).*cluster\.redis_url "),
    "inbox-poller check-config": Said("prints every effective", r"team\.name +\"my-team\" +\S+/my-team\.toml:2"),
    "inbox-poller nodes": Said("the leader, last contacts, waiting mail", "this (host|node), h1"),
    "several-machines.md inbox-poller history": Said("shows the other node of a message: `w3@h2` is w3 on h2", "w3@h2 .*Here is h2"),
    "several-machines.md inbox-poller trace ID": Said("shows the node of a message, and since when", "w3.*(.*\n)*.*came from (host|node) h2"),
    "inbox-poller history": Said("What did the workers say?", "hello"),
    # run-as-a-service.md
    "inbox-poller run": Said("SIGTERM and SIGINT let it finish its polls, and it exits with 0.", keys=RUNS),
    "inbox-poller run --config team.toml": Said("The daemon stays in the foreground.", keys=RUNS),
    "inbox-poller run --new-ledger": Said("On a sound ledger this option changes nothing.", keys=RUNS),
    "inbox-poller reload": Said("Load it", "^no team has changed\n$"),
    "inbox-poller doctor --quick": Said("is a health check for a container or a timer", "my-team", 1),
    "inbox-poller metrics": Said("prints OpenMetrics text", r"inbox_poller_build_info(.*\n)*# EOF\n$"),
    # troubleshoot.md
    "inbox-poller doctor": Said("names the command that fixes each problem", r"\d+ errors, \d+ warning", 1),
    "inbox-poller wait --idle": Said("When are the workers done?", "no worker is working"),
    "inbox-poller quarantine": Said("What was refused or unreadable?", "permission_request"),
    "inbox-poller rules --try 'COMMAND'":
        Said("one part of the command is not covered", "(?m)^asked: no allow rule covers the command \"make deploy\""),
    "inbox-poller shutdown WORKER --force": Said("a worker does not stop, or its pane stays", "builder"),
    "inbox-poller resume": Said("type `inbox-poller resume`", "my-team was not paused; its role is leader"),
    # upgrade-back-up-remove.md
    "inbox-poller --version": Said("Check", r"^inbox-poller \d+\.\d+\.\d+"),
    'sqlite3 ~/.local/state/inbox-poller/ledger.sqlite3 ".backup backup.sqlite3"':
        Said("Back up the ledger while the daemon runs", "ada.hello", then='sqlite3 backup.sqlite3 "SELECT sender, text FROM messages_view"'),
    "inbox-poller mcp uninstall": Said("with the `--scope` that you used", r"-.*mcp(.*\n)*.*: removed", keys=ASKED_BACK),
    # write-rules.md
    "inbox-poller rules --try 'npm test && git push'":
        Said("names, for each part of the command, the rule that allows, asks about or denies it", r"npm test +asked.*\n +git push +asked"),
    "inbox-poller rules --suggest":
        Said("After some days, print such rules for your file", r"\"Bash\(make deploy-\d+\)\",  # 1 request of ada"),
    "inbox-poller allow Bash": Said("You can allow each command until the lead's session ends", "Bash", keys=ASKED_BACK),
    "inbox-poller revoke Bash": Said("Take the rule back", "no longer allowed by us: Bash"),
    # the reference
    'inbox-poller mcp install --scope local --name mail-alice --root "$PWD/scratch/coordination" --actor alice':
        Said("`install` writes an absolute path.", r'"--root", "/(.*\n)*.*written', keys=ASKED_BACK),
    'inbox-poller mcp install --scope local --name mail-bob --root "$PWD/scratch/coordination" --actor bob':
        Said("`install` prints the line that allows them.", "mcp__mail-bob", keys=ASKED_BACK),
    "inbox-poller mcp install --scope project --team my-team":
        Said("The lead of a team", r'"--team", "my-team"(.*\n)*.*written', keys=ASKED_BACK),
    "inbox-poller run # shows your teams, and the two lines to write next":
        Said("shows your teams, and the two lines to write next",
             r'my-team: lead team-lead, workers ada, builder(.*\n)*  \[team\]\n  name = "my-team"', keys=RUNS),
    "inbox-poller inbox list": Said("every inbox: whose it is", r"team-lead(.*\n)*"),
    "control.md python3 <<'EOF'": Said("A first program", r"^ada permission Bash: make deploy-\d+\n$"),
    "inbox-poller help": Said("lists the commands in groups", r"Answer requests"),
    "inbox-poller help COMMAND": Said("explains one, with options and examples", r"Usage: inbox-poller approve(.*\n)*Examples:"),
    "inbox-poller manual --schemas DIR":
        Said("writes a JSON Schema of each command's output", "control.json\n(.*\n)*.*pending", then="ls DIR"),
    "inbox-poller doctor --team my-team --json": Said("Findings are grouped by team.", r'^\{.*"findings"', 1),
    "inbox-poller hook install --target workers": Said("installs a hook that runs", "PreToolUse", keys=ASKED_BACK),
    "sqlite3 -readonly ~/.local/state/inbox-poller/ledger.sqlite3":
        Said("Read it at any time, also while the daemon runs", "messages", keys=(("sqlite> $", ".tables\r"), ("sqlite> $", ".quit\r"))),
    "jq -c 'select(.request_id == \"perm-1\")' $LOG": Said("the life of one request", "request.decided"),
    "jq -c 'select(.message_key // \"\" | startswith(\"9181534d\"))' $LOG":
        Said("the life of one message", '"event":"message.accepted".*\n(.*\n)*.*"event":"delivery.delivered"'),
    "jq -r 'select(.event == \"request.decided\") | [.ts, .team, .from, .subject, .new, .by, .rule] | @tsv' $LOG":
        Said("who decided what", r"\tmy-team\tbuilder\tBash: git status\tapproved\trule\tBash\(git status \*\)\n$"),
    "jq -r 'select(.event == \"request.decided\") | .latency_ms' $LOG | sort -n | tail -1": Said("the longest wait", r"^\d+\n$"),
    "jq -c 'select(.event | startswith(\"message.rejected\", \"message.malformed\"))' $LOG":
        Said("what was not obeyed", "permission_request"),
    "jq -c 'select(.level == \"error\")' $LOG": Said("what is ours to fix", "^$"),
    "jq -r 'select(.event == \"delivery.delivered\") | .latency_ms' $LOG | sort -n | awk '{a[NR]=$1} END {print a[int(NR/2)+1]}'":
        Said("median time to the lead", r"^\d+\n$"),
    'inbox-poller mailbox send bob "please review branch x" --root scratch/coordination --actor ada':
        Said("`send` also makes the mailbox of a new valid name.", "it was made, and the message waits in it"),
    "inbox-poller assign TASK WORKER": Said("`inbox-poller assign TASK WORKER`", "builder"),
    "inbox-poller mcp --channel": Said("also pushes messages into the session", '"claude/channel"', stdin=TOOLS_ASKED),
    "troubleshoot.md inbox-poller trace KEY": Said("Where is this message?", "^message "),
    "inbox-poller mailbox recv --root scratch/coordination --actor bob":
        Said("prints the oldest that fits and takes it", "please review branch x"),
    "inbox-poller mailbox send bob 'please review branch x'": Said("Write the address in place of the folder", "bob"),
    "inbox-poller tasks --dead": Said("the dead letters"),
    "inbox-poller mcp": Said("It gives an assistant mail and tasks as tools.", '"recv"', stdin=TOOLS_ASKED),
    "inbox-poller pending --json": Said("in `inbox-poller pending --json`", '"requests"'),
    "inbox-poller rules --try 'git push x && ls'": Said("To try a call", r"git push x +asked.*\n +ls +"),
    "inbox-poller web": Said("serves a page that shows requests and takes your answers", "#token=", keys=(("page_answers", CTRL_C),)),
    "inbox-poller web --link": Said("prints the next link", r"^http://127\.0\.0\.1:\d+/#token=[0-9a-f]{64}\n$"),
    "inbox-poller web --server-name box.example.com":
        Said("If you have a proxy with TLS, such as a tailnet, name it", r"https://box\.example\.com/#token=",
             keys=(("page_answers", CTRL_C),)),
    "inbox-poller init":
        Said("asks at most five questions, shows the team file, and writes it", r"\+\[team\](.*\n)*.*written",
             keys=(*[(r"Number \[\d\]: $", "\r")] * 4, *ASKED_BACK)),
}


def block_lines(kind, text):
    """(line, its comment, what is printed below it) of a block; in a console the lines after `$`. After a backslash a line goes on."""
    text = re.sub(r"\\\n\s*", "", text)
    found = [(line, "") for line in text.splitlines()] if kind == "sh" else re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)
    for line, output in found:
        if without_comment(line):
            yield without_comment(line), line[len(without_comment(line)):].strip(), output


def examples(page):
    """The same of a page, and the settings made before it, in the order of the page; what stands in a sentence only once."""
    text, named = page.read_text("utf-8"), set()
    for found in re.finditer(r"(<!-- way: .*\n)?^```(.*)\n([^\0]*?)^```|`(inbox-poller [^`]*)`", text, re.M):
        if found[4] and found[4] not in named:
            named.add(found[4])
            yield " ".join(found[4].split()), "", "", ""
        elif not found[1] and found[2] == "python":
            yield "python3 <<'EOF'\n%sEOF" % found[3], "", "", ""
        elif not found[1] and found[2] in ("sh", "console"):
            made = ""
            for line, comment, output in block_lines(found[2], found[3] or ""):
                if re.match(r"(export )?[A-Z_]+=\S+( [A-Z_]+=\S+)*$", line):
                    made += line + "\n"
                else:
                    yield line, comment, output, made


class Documents(World):
    def begin(self, line):
        """A home with a daemon: a rule has decided, a person is asked, mail is taken, mail waits, an entry is unreadable."""
        self.stop_all()
        self.stops.clear()
        shutil.rmtree(self.folder)
        self.folder.mkdir(mode=0o700)
        self.furnish()
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
            self.env.pop(name)
        self.env["USER"] = "ann"
        self.home = self.folder / "home"
        self.settings = self.home / ".config" / "inbox-poller"
        (self.settings / "teams.d").mkdir(parents=True, mode=0o700)
        os.chmod(self.settings, 0o700)
        self.state = self.home / ".local" / "state" / "inbox-poller"
        self.state.mkdir(parents=True, mode=0o700)
        write_private(self.settings / "daemon.toml", '[log]\nfile = "%s"\nformat = "json"\n' % (self.state / "log.jsonl"))
        for path in (self.settings / "teams.d" / "my-team.toml", self.folder / "team.toml"):
            write_private(path, TEAM % (self.folder / "tmux.sock"))
        self.team.add_task(12, subject="Port the parser")
        self.shell, self.asked, self.port = Shell(self.env, self.folder), 0, free_port()
        self.daemon_runs = self.behind("inbox-poller run")
        start = functools.partial(self.start_pane_worker, self.start_tmux()) if "shutdown " in line else self.start_worker
        self.workers = {name: start(self.team, name) for name in ("ada", "builder")}
        self.answer(self.workers["builder"], self.ask("builder", "git status"))
        self.team.say("ada", "hello")
        wire.append(self.team.lead_inbox, wire.entry("ada", '{"type":"permission_request"}'))
        self.shows("inbox-poller recv", "hello")
        self.shows("inbox-poller quarantine", "permission_request")
        if not re.search("shutdown |wait ", line):
            self.open_request()
        self.team.say("ada", "The build is green.")
        self.shows("inbox-poller history", "The build is green.")
        self.printed_key, self.id = None, self.open_request

    def shows(self, line, part):
        wait_for("%s shows %r" % (line, part), lambda: part in self.shell.run(line)[1])

    def ask(self, member, command):
        self.asked += 1
        return self.workers[member].ask("permission", tool="Bash", input={"command": command}, id="perm-%d" % self.asked)

    def open_request(self):
        request = self.ask("ada", "make deploy-%d" % (self.asked + 1))
        self.shows("inbox-poller pending", request)
        return request

    def key(self):
        """What a command has printed, or that of the message that was taken."""
        if self.printed_key:
            return self.printed_key
        messages = json.loads(self.shell.run("inbox-poller history --json")[1])["messages"]
        return next(m["message_key"] for m in messages if m["text"] == "hello")

    def serves(self):
        return self.shell.run("inbox-poller status")[0] == 0

    def page_answers(self):
        return self.shell.run(self.filled_in("inbox-poller web --link"))[0] == 0

    def has_the_mail(self):
        return "The build is green." in self.got.read_text("utf-8")

    def filled_in(self, line):
        """What stands in capitals for something of a person, or is the key of one message, or a place outside of the home folder."""
        for word, value in (("ID", self.id), ("KEY", self.key), ("WORKER", lambda: "builder"), ("TASK", lambda: "12"),
                            ("DIR", lambda: str(self.folder)), ("9181534d", lambda: self.key()[:8])):
            if re.search(r"\b%s\b" % word, line):
                line = re.sub(r"\b%s\b" % word, value(), line)
        line = re.sub("COMMAND", "approve" if "help" in line else "make deploy", line)
        line = line.replace("inbox-poller web", "inbox-poller web --listen 127.0.0.1:%d" % self.port)
        return line.replace("/run/redis/team.sock", str(self.folder / "r" / "s"))

    def type(self, line, made, said):
        if said.keys:
            return self.shell.at_terminal(line, *((getattr(self, what, what), keys) for what, keys in said.keys))
        if line.endswith("&"):
            self.behind(line[:-1].strip())
            return 0, ""
        if re.match("inbox-poller (trace|history|status|hosts|decisions|shutdowns)", line):  # the daemon may not have seen all yet
            last = []
            with contextlib.suppress(Missing):
                wait_for(said.prints, lambda: last.append(self.shell.run(line)) or re.search(said.prints, last[-1][1]))
            return last[-1]
        return self.shell.run(made + line, said.stdin.replace("SESSION", self.team.roster()["leadSessionId"]))

    def test_each_line_does_what_its_page_says(self):
        used, sentences, ran, compared, passed_over = set(), set(), 0, 0, 0
        for page in PAGES:
            text, fresh = " ".join(page.read_text("utf-8").split()), False
            for line, comment, output, made in examples(page):
                reason = next((row for row in ELSEWHERE if re.search(row, line)), None)
                if reason:
                    used.add(reason)
                    passed_over += 1
                    continue
                names = ["%s %s" % (line, comment), "%s %s" % (page.name, line.split("\n")[0]), line]
                row = next((name for name in names if name in PROMISED), line)
                said = PROMISED.get(row, Said(""))
                with self.subTest(page=page.name, line=line):
                    if not fresh or re.search("shutdown |wait (?!--exited)", line):
                        self.begin(line)
                        fresh = True
                        if page.name == "README.md":  # nothing is configured until its `init`
                            (self.settings / "teams.d" / "my-team.toml").unlink()
                    self.prepare(page, line, made)
                    code, printed = self.type(self.filled_in(line), self.filled_in(made), said)
                    if line.startswith("inbox-poller run") and not line.endswith("&"):
                        self.daemon_runs = self.behind("inbox-poller run")
                    if said.then:
                        printed += self.shell.run(self.filled_in(said.then))[1]
                    self.printed_key = (re.findall("poller trace ([0-9a-f]{8,})", printed) or [self.printed_key])[-1]
                    self.assertEqual(code, said.code, printed)
                    self.assertTrue(re.search(said.prints, printed), "%r is not in: %s" % (said.prints, printed))
                    if output:
                        self.assertRegex(printed.replace(str(self.port), "8474").replace(" --listen 127.0.0.1:8474", ""), "^" + shown(output, self.home))
                ran += 1
                compared += bool(output or said.prints)
                used.add(row)
                if said.text in text:
                    sentences.add(row)
        print("figures: %d lines ran, what %d print is compared, %d are excused" % (ran, compared, passed_over))
        self.assertEqual([row for row in (*ELSEWHERE, *PROMISED) if row not in used], [], "rows that fit no line")
        self.assertEqual([said.text for row, said in PROMISED.items() if row not in sentences], [], "no page says so of that line")

    def prepare(self, page, line, made):
        """Brings about what the page has led to before this line."""
        if line.startswith("inbox-poller run"):
            (self.settings / "daemon.toml").unlink(missing_ok=True)  # its log goes to the terminal
            second = self.shell.run(line.rstrip(" &"))
            self.assertEqual((second[0], str(self.daemon_runs.pid) in second[1]), (1, True), "it names the first: " + second[1])
            os.killpg(self.daemon_runs.pid, signal.SIGTERM)
            self.assertEqual(self.daemon_runs.wait(LIMIT_S), 0)
        if line.startswith("inbox-poller web"):
            self.port = free_port()
        if line == "inbox-poller init":
            (self.settings / "teams.d" / "my-team.toml").unlink(missing_ok=True)
        elif line == "inbox-poller web --link":
            self.behind("inbox-poller web --listen 127.0.0.1:%d" % self.port)
            wait_for("the page is there", self.page_answers)
        elif line.startswith("inbox-poller wait "):
            for worker in self.workers.values():
                worker.do("idle")
        elif line == "inbox-poller rules --suggest":
            self.shell.run("inbox-poller approve " + self.open_request())
        elif re.match("inbox-poller (pending|top)", line) and "nothing is waiting" in self.shell.run("inbox-poller pending")[1]:
            self.open_request()
        elif line == "inbox-poller shutdowns":
            self.shell.run("inbox-poller shutdown builder")
        elif line == "inbox-poller mcp uninstall":
            self.shell.run("inbox-poller mcp install --team my-team --yes")
        elif line.startswith("inbox-poller tasks"):
            self.env["COLLAB_ROOT"] = "scratch/coordination"
            (self.folder / "scratch" / "coordination").mkdir(parents=True, exist_ok=True)
        elif page.name == "several-machines.md" and line == "inbox-poller check-config":
            self.lead_from_h1(page)
        if "/run/redis/team.sock" in made:
            self.engine = Engine(self.folder / "r").start()
            self.stops.append(self.engine.stop)

    def lead_from_h1(self, page):
        """Steps 1 to 3 of the page: a Redis with its list of users, h1's secret, the team file as it stands there, but for the address."""
        engine = Engine(self.folder / "r", users=(self.folder / "users.acl").read_text("utf-8"))
        self.stops.append(engine.stop)
        shutil.copy2(self.home / "redis-secrets" / "node-h1", self.settings / "redis.secret")
        self.workers["ada"] = self.start_worker(wire.Team(self.team.root, "farm", ("w1", "w2")), "w1")
        toml = re.search(r"```toml\n(.*?)```", page.read_text("utf-8"), re.S)[1]
        (self.settings / "teams.d" / "my-team.toml").unlink()
        toml = toml.replace("rediss://redis.lan:6379", "redis+unix://%s" % engine.socket)
        write_private(self.settings / "teams.d" / "farm.toml", toml)
        self.assertIn("WARNING", self.shell.run("inbox-poller check-config")[1], "the engine is not there yet")
        engine.start()
        self.shell.run("inbox-poller reload")
        self.shows("inbox-poller nodes", ", h1")
        h2 = wire.Team(self.folder / "h2" / "teams", "farm", ("w3", "w4"))
        for old, new in (('role = "leader"', 'role = "follower"\nroot = "%s"' % h2.root), ('node = "h1"', 'node = "h2"'),
                         ("~/.config/inbox-poller/redis.secret", str(self.home / "redis-secrets" / "node-h2"))):
            self.assertIn(old, toml)
            toml = toml.replace(old, new)
        daemon = Daemon(os.environ["INBOX_POLLER"], self.folder / "h2", toml).start()
        self.stops.append(daemon.stop)
        h2.say("w3", "Here is h2")
        self.shows("inbox-poller history", "Here is h2")
        self.id = lambda: json.loads(self.shell.run("inbox-poller history --from w3 --json")[1])["messages"][0]["message_key"]


if __name__ == "__main__":
    unittest.main()
