"""The way in for somebody who has configured nothing: `run` that only watches, `init`, help, and a socket that is found."""

import json
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, alone, wait_for, write_private


class Newcomer(ProcessTest):
    """Teams below ~/.claude/teams, and no file of ours anywhere."""

    def setUp(self):
        super().setUp()
        self.program = os.environ["INBOX_POLLER"]
        self.env = dict(alone(self.folder), PATH="/usr/bin:/bin", LC_ALL="C.UTF-8")
        self.env.pop("TMUX", None)
        home = self.folder / "home"
        self.teams = home / ".claude" / "teams"
        self.files = home / "config" / "inbox-poller" / "teams.d"
        self.out = self.folder / "out"
        self.team = wire.Team(self.teams, "demo", ("ada", "bob"))
        wire.Team(self.teams, "second", ("carl",))

    def start(self, env=None):
        with open(self.out, "ab") as out, open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([self.program, "run", "--log-format", "json"], env=env or self.env,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        self.stops.append(self.stop)
        wait_for("it serves", lambda: self.cli("status", expect=None, env=env).returncode == 0)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT_S)

    def cli(self, *arguments, expect=0, env=None, cwd=None):
        done = subprocess.run([self.program, *arguments], env=env or self.env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=LIMIT_S)
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def configure(self, name, text):
        self.files.mkdir(parents=True, mode=0o700, exist_ok=True)
        os.chmod(self.files.parent, 0o700)
        return write_private(self.files / (name + ".toml"), text)


class WithoutConfiguration(Newcomer):
    def contents(self):
        return {path: path.read_bytes() for path in sorted(self.teams.rglob("*")) if path.is_file()}

    def test_run_watches_every_team_writes_to_none_and_says_the_two_lines_that_lead_on(self):
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "make"}))
        self.team.say("bob", "hello")
        before = self.contents()
        self.start()
        self.assertIn("observer", self.cli("status").stdout)
        wait_for("it has seen what is there", lambda: "hello" in self.cli("history").stdout)
        self.assertEqual(self.contents(), before)
        told = self.out.read_text()
        self.assertIn("demo: lead team-lead, workers ada, bob; 2 messages for the lead, 2 unread", told)
        self.assertIn("second: lead team-lead, workers carl", told)
        self.assertIn(str(self.files / "demo.toml"), told)
        self.assertIn('  [team]\n  name = "demo"\n', told)
        self.assertIn("inbox-poller init", told)
        self.assertIn("role observer", self.cli("send", "ada", "hi", "--team", "demo", expect=1).stderr)
        wire.Team(self.teams, "third", ("dora",))
        wait_for("one that comes is seen", lambda: "third" in self.cli("status").stdout)
        # What it said to do is what works.
        path = self.configure("demo", '[team]\nname = "demo"\n')
        self.cli("reload")
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "make again"}))
        wait_for("the request waits for a person", lambda: "make again" in self.cli("pending").stdout)
        # A file that is lost is no reason to let go of a team whose requests we answer.
        os.unlink(path)
        self.assertIn("holds no team file", self.cli("reload", expect=2).stderr)
        self.assertIn("make again", self.cli("pending").stdout)
        self.assertEqual(self.stop(), 0)

    def test_check_config_and_doctor_say_that_nothing_is_configured(self):
        done = self.cli("check-config")
        self.assertIn("nothing is configured", done.stderr)
        self.assertIn("inbox-poller init", done.stderr)
        self.assertIn("observer", done.stdout)
        self.assertIn("inbox-poller init", self.cli("doctor", expect=None).stdout)

    def test_a_name_that_matches_nothing_is_told_with_its_nearest_neighbor(self):
        self.configure("demo", '[team]\nname = "demmo"\n')
        self.assertIn('did you mean "demo"?', self.cli("check-config").stderr)
        self.start()
        wait_for("the log tells", lambda: 'did you mean \\"demo\\"?' in (self.folder / "log").read_text())
        self.configure("demo", '[team]\nname = "demo"\n')
        self.cli("reload")
        wait_for("it is served", lambda: "demo" in self.cli("status").stdout)
        self.assertIn('did you mean "demo"?', self.cli("send", "ada", "hi", "--team", "demp", expect=4).stderr)


    def test_doctor_names_the_neighbor_of_a_name_that_matches_nothing(self):
        self.configure("demo", '[team]\nname = "demmo"\n')
        self.assertRegex(self.cli("doctor", expect=None).stdout, r"warning +team \"?demmo\"? does not exist yet; did you mean .?demo")

    def test_doctor_names_a_hook_whose_program_is_gone(self):
        self.cli("hook", "install", "--yes")
        settings = self.folder / "home" / ".claude" / "settings.json"
        self.assertNotIn("our hooks start", self.cli("doctor", expect=None).stdout)
        settings.write_text(settings.read_text("utf-8").replace(os.path.abspath(self.program), "/gone/inbox-poller"), "utf-8")
        said = self.cli("doctor", expect=2).stdout
        self.assertIn("our hooks start /gone/inbox-poller, which is not there", said)
        self.assertIn("inbox-poller hook install", said)

    def test_a_person_at_a_terminal_reads_three_lines_of_welcome_and_one_line_an_event(self):
        self.configure("demo", '[team]\nname = "demo"\n[permissions]\nallow = ["Bash(git status *)"]\n')
        outer, inner = pty.openpty()
        process = subprocess.Popen([self.program, "run"], env=dict(self.env, TERM="dumb", NO_COLOR="1"), stdin=inner, stdout=inner, stderr=inner,
                                   start_new_session=True)
        os.close(inner)
        self.stops.append(lambda: (process.poll() is None and process.kill(), process.wait(), os.close(outer)))
        said = bytearray()

        def text():
            while select.select([outer], [], [], 0)[0]:
                try:
                    said.extend(os.read(outer, 65536))
                except OSError:
                    break
            return said.decode()

        wait_for("it welcomes", lambda: "What happens, line by line:" in text())
        request = wire.permission_request("ada", "Bash", {"command": "git status " + "x" * 300})
        self.team.say("ada", request)
        wait_for("it tells", lambda: "request.decided" in text())
        process.send_signal(signal.SIGTERM)
        wait_for("it has ended", lambda: text() and process.poll() is not None)
        lines = [line for line in text().replace("\r", "").split("\n") if line]
        first = next(n for n, line in enumerate(lines) if line.startswith("InboxPoller "))
        self.assertIn("looks after demo (leader).", lines[first])
        self.assertIn("inbox-poller pending", lines[first + 1])
        self.assertIn("Ctrl-C", lines[first + 2])
        told = next(line for line in lines if "request.decided" in line)
        self.assertRegex(told, r"^\d\d:\d\d:\d\d demo ada: Bash: git stat.*…  request.decided")
        self.assertTrue(told.endswith(request["request_id"]), told)
        self.assertLessEqual(max(len(line) for line in lines[first:] if "WARNING" not in line), 120)

    def test_the_journal_is_told_the_level_of_each_line_and_a_file_is_not(self):
        self.configure("demo", '[team]\nname = "demo"\n')
        with open(self.out, "wb") as out:
            at = os.fstat(out.fileno())
            here = {"JOURNAL_STREAM": "%d:%d" % (at.st_dev, at.st_ino)}
            subprocess.run([self.program, "run", "--once"], env=dict(self.env, **here), stderr=out, stdout=subprocess.DEVNULL, timeout=LIMIT_S, check=True)
        lines = self.out.read_text().splitlines()
        self.assertTrue(all(json.loads(line[3:])["level"] in {"<6>": "info", "<4>": "warn", "<7>": "debug", "<3>": "error"}[line[:3]]
                            for line in lines), lines)
        with open(self.out, "wb") as out:
            subprocess.run([self.program, "run", "--once"], env=dict(self.env, JOURNAL_STREAM="1:2"), stderr=out, stdout=subprocess.DEVNULL,
                           timeout=LIMIT_S, check=True)
        self.assertTrue(self.out.read_text().startswith("{"))


class Init(Newcomer):
    def file(self, name="demo"):
        return (self.files / (name + ".toml")).read_text()

    def test_options_answer_everything_and_the_file_is_what_the_daemon_takes(self):
        done = self.cli("init", "--team", "demo", "--role", "leader", "--allow", "read-only", "--method", "socket", "--yes")
        self.assertIn("workers ada, bob", done.stdout)
        self.assertIn("errors, ", done.stdout, "doctor has looked")
        self.assertIn("    inbox-poller run\n", done.stdout)
        self.assertIn('name = "demo"', self.file())
        self.assertIn('methods = ["socket"]', self.file())
        self.assertEqual((self.files / "demo.toml").stat().st_mode & 0o777, 0o600)
        self.start()
        worker = self.start_worker(self.team, "ada")
        request = worker.ask("permission", tool="Bash", input={"command": "git status --short"})
        self.assertEqual(self.answer(worker, request)["event"], "ran")
        self.assertIn("demo.toml", self.cli("init", "--team", "demo", "--yes", expect=1).stderr)
        self.assertIn("demo.toml", self.cli("init", "--team", "*", "--yes", expect=1).stderr, "it would claim it too")

    def test_without_a_terminal_and_without_yes_nothing_is_written(self):
        self.assertIn("--yes", self.cli("init", expect=1).stderr)
        self.assertFalse(self.files.exists() and list(self.files.iterdir()))

    def test_every_team_that_comes_is_never_guessed(self):
        shutil.rmtree(self.teams)
        self.assertIn("--team NAME", self.cli("init", "--yes", expect=1).stderr)
        self.assertFalse(self.files.exists() and list(self.files.iterdir()))
        self.cli("init", "--yes", "--team", "*", "--role", "interceptor")
        self.assertIn('name = "*"', self.file("teams"))

    def test_a_name_of_no_team_is_told_and_one_that_is_nearly_right_is_not_written(self):
        self.assertIn('did you mean "demo"?', self.cli("init", "--team", "dmo", "--yes", expect=4).stderr)
        self.assertFalse((self.files / "dmo.toml").exists())
        done = self.cli("init", "--team", "parser", "--yes")
        self.assertIn("does not exist", done.stderr)
        self.assertIn("0 errors", done.stdout)
        self.assertIn('name = "parser"', self.file("parser"))

    def test_mail_that_agents_share_is_found_or_named_and_the_file_is_taken(self):
        shutil.rmtree(self.teams)
        project = self.folder / "parser"
        shared = project / "scratch" / "coordination"
        for name in ("claude", "codex"):
            (shared / name / "new").mkdir(parents=True, mode=0o700)
        here = dict(cwd=project)
        self.assertIn("--actor NAME", self.cli("init", "--yes", expect=2, **here).stderr, "whose mail it is is not guessed")
        done = self.cli("init", "--actor", "claude", "--method", "socket", "--yes", **here)
        self.assertIn("share in %s: claude, codex" % shared, done.stdout)
        self.assertNotIn("pending", done.stdout.split("Next:")[1])
        self.assertEqual(self.file("parser"), '[team]\nname = "parser"\nbackend = "maildir"\nfolder = "%s"\nlead = "claude"\n\n'
                                              '[delivery]\nmethods = ["socket"]\n' % shared)
        root = "redis+unix://%s#pair" % (self.folder / "nowhere.sock")
        self.cli("init", "--role", "observer", "--yes", env=dict(self.env, COLLAB_ROOT=root, COLLAB_ACTOR="claude"), expect=2)
        self.assertEqual(self.file("pair"), '[team]\nname = "pair"\nbackend = "redis"\nredis_url = "%s"\nlead = "claude"\n'
                                            'role = "observer"\n' % root)
        self.assertIn("redis+unix", self.cli("init", "--root", "redis+unix:///x", "--yes", expect=2).stderr)
        self.assertIn("interceptor", self.cli("init", "--root", str(shared), "--actor", "codex", "--team", "other", "--role", "interceptor", "--yes",
                                        expect=2).stderr)
        self.assertEqual(sorted(path.name for path in self.files.iterdir()), ["pair.toml", "parser.toml"])
        self.cli("check-config")

    def test_five_questions_on_a_terminal(self):
        outer, inner = pty.openpty()
        process = subprocess.Popen([self.program, "init"], env=dict(self.env, TERM="dumb"), stdin=inner, stdout=inner, stderr=inner,
                                   start_new_session=True, preexec_fn=lambda: os.umask(0o002))
        self.stops.append(lambda: (process.kill(), process.wait(), os.close(outer), os.close(inner)))
        said = []

        def text():
            while select.select([outer], [], [], 0)[0]:
                said.append(os.read(outer, 65536))
            return b"".join(said).decode()

        for question, answer in (("Which team", "1"), ("Who reads", "2"), ("may workers do", "9"), ("none of them", ""),
                                 ("Write this", "y")):
            wait_for(question, lambda: question in text())
            os.write(outer, answer.encode() + b"\n")
        wait_for("it has ended", lambda: text() and process.poll() is not None)
        self.assertEqual(process.returncode, 0, text())
        self.assertIn("inbox-poller run", text())
        self.assertEqual(self.file(), '[team]\nname = "demo"\nrole = "interceptor"\n')
        self.cli("check-config")  # also with a umask that lets a group write: such a file would be refused


class AsANewcomerSees(Newcomer):
    def test_from_no_configuration_to_the_first_answer(self):
        """The same script as in a bare Debian (package/test_bare.py), with the program just built."""
        home = self.folder / "somebody"
        home.mkdir(mode=0o700)
        root = pathlib.Path(__file__).resolve().parents[1]
        done = subprocess.run([sys.executable, "-B", str(root / "support" / "newcomer.py"), os.path.abspath(self.program), str(home)],
                              env=self.env, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout, (root / "package" / "newcomer.txt").read_text("utf-8"),
                         "what a newcomer sees has changed: tests/support/newcomer.py prints tests/package/newcomer.txt")


class Manners(Newcomer):
    def test_help_and_version_are_found_whatever_somebody_types(self):
        for words in (("help",), ("-h",), ("--help",)):
            self.assertIn("Answer requests", self.cli(*words).stdout)
        self.assertEqual(self.cli("help", "hook", "install").stdout, self.cli("hook", "install", "--help").stdout)
        self.assertEqual(self.cli("-V").stdout, self.cli("--version").stdout)
        for words, meant in ((("statsu",), '"status"'), (("help", "statsu"), '"status"'), (("hook", "instal"), '"hook install"')):
            self.assertIn("did you mean " + meant, self.cli(*words, expect=None).stderr)
        self.cli("help", "statsu", expect=2)
        for command in ("approve", "doctor", "run"):
            self.assertIn("--socket PATH", self.cli(command, "--help").stdout, "what every command takes is in every help")

    def test_the_socket_is_found_whatever_the_runtime_folder_is_called_on_one_side(self):
        elsewhere = dict(self.env, XDG_RUNTIME_DIR=str(self.folder / "elsewhere"))
        nowhere = {name: value for name, value in self.env.items() if name != "XDG_RUNTIME_DIR"}
        for daemon in (self.env, nowhere):
            self.start(daemon)
            for env in (self.env, elsewhere, nowhere):
                self.assertIn("demo", self.cli("status", env=env).stdout)
            self.assertEqual(self.stop(), 0)
            for env in (self.env, elsewhere, nowhere):
                self.assertIn("inbox-poller run", self.cli("status", env=env, expect=3).stderr)
        for daemon, others in ((self.env, (nowhere,)), (elsewhere, (self.env, nowhere)), (nowhere, (self.env, elsewhere))):
            self.start(daemon)  # what the one before left is in nobody's way
            for env in others:
                self.assertIn("demo", self.cli("status", env=env).stdout)
            self.process.kill()
            self.process.wait()


class Completion(Newcomer):
    """By the words of a command line, and by the shell that is there."""

    def offers(self, *words):
        return dict(line.split("\t") for line in self.cli("__complete", *words).stdout.splitlines())

    def offered(self, *words):
        """What the daemon offers. A person waits for the key's effect, so a command asks for 300 ms only: on a slow machine again."""
        return wait_for("the daemon's answer comes in time", lambda: self.offers(*words))

    def test_commands_options_and_what_is_there_right_now(self):
        self.assertIn("status", self.offers(""))
        self.assertEqual(list(self.offers("hook", "inst")), ["install"])
        self.assertEqual(list(self.offers("help", "stat")), ["status", "statusline"])
        self.assertIn("--reason", self.offers("deny", "x", "--"))
        self.assertIn("--socket", self.offers("deny", "--so"))
        self.assertEqual(self.offers("approve", ""), {}, "without a daemon there is nothing, and no complaint")
        self.configure("demo", '[team]\nname = "demo"\n')
        self.start()
        wait_for("the team is there", lambda: self.offers("--team", "d") == {"demo": "leader"})
        self.assertEqual(self.offered("send", ""), {"ada": "in team demo", "bob": "in team demo"})
        self.assertEqual(self.offers("send", "ada", ""), {})
        request = wire.permission_request("ada", "Bash", {"command": "make"})
        odd = dict(wire.permission_request("ada", "Bash", {"command": "make"}), request_id="$(reboot)")
        for one in (request, odd):
            self.team.say("ada", one)
        wait_for("the request is offered", lambda: [*self.offers("approve", "")] == [request["request_id"]])
        self.assertRegex(self.offered("deny", "")[request["request_id"]], "ada: Bash.*make")
        self.assertEqual(self.offers("approve", "--note", ""), {})
        self.team.say("bob", "The parser is done.")
        key, = wait_for("the message is offered", lambda: [k for k, what in self.offers("history", "").items() if "parser" in what])
        self.assertEqual(self.offered("history", "")[key], "bob: The parser is done.")
        self.assertIn("The parser is done.", self.cli("history", key).stdout)
        self.assertEqual(list(self.offered("trace", key[:6])), [key])

    def test_bash_completes_a_word(self):
        script = self.cli("completion", "bash").stdout
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "inbox-poller").symlink_to(os.path.abspath(self.program))
        request = 'COMP_WORDS=(inbox-poller hook inst); COMP_CWORD=2; _inbox_poller; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script + request], env=dict(self.env, PATH="%s:/usr/bin:/bin" % (self.folder / "bin")),
                              capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual((done.stdout, done.stderr), ("install\n", ""))

    def test_zsh_and_fish_complete_a_word(self):
        """Where they are: `deploy/install-deps test` installs them."""
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "inbox-poller").symlink_to(os.path.abspath(self.program))
        env = dict(self.env, PATH="%s:/usr/bin:/bin" % (self.folder / "bin"), TERM="dumb")
        around = {"zsh": ("autoload -Uz compinit\ncompinit -u -D\n", "_describe() { print -rl -- ${found%%:*} }\n"
                          "words=(inbox-poller hook inst)\nCURRENT=3\n_inbox_poller\n"),
                  "fish": ("", 'complete -C "inbox-poller hook inst"\n')}
        for shell, (before, after) in around.items():
            said = self.cli("completion", shell).stdout
            self.assertIn("inbox-poller __complete", said)
            if not shutil.which(shell):
                print("%s is not installed: its completions were not run" % shell)
                continue
            done = subprocess.run([shell, "-c", before + said + after], env=env, capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()], ["install"], done.stderr)

    def test_every_command_has_a_manual_page(self):
        folder = self.folder / "man1"
        self.cli("manual", str(folder))
        program = (folder / "inbox-poller.1").read_text()
        for page in sorted(folder.iterdir()):
            text = page.read_text()
            self.assertRegex(text, r"\.SH NAME\n.+ \\- .+\n\.SH SYNOPSIS\n")
            self.assertIn(page.stem.replace("-", "\\-"), program)
        self.assertIn("\\-\\-reason", (folder / "inbox-poller-deny.1").read_text())
        self.assertGreater(len(list(folder.iterdir())), 50)
        if shutil.which("groff"):
            said = subprocess.run(["groff", "-Kutf8", "-man", "-Tutf8", "-ww", "-z", *map(str, sorted(folder.iterdir()))], capture_output=True,
                                  text=True, timeout=LIMIT_S)
            self.assertEqual((said.returncode, said.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
