"""`recv --follow`: a receiver that stays, with its own acknowledgments or with those of who reads it, through crashes on both sides."""

import os
import signal
import subprocess
import unittest

from case import ProcessTest
from daemon import LIMIT_S, hold_still, wait_for
from follower import Follower


class Follow(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)

    def say(self, *texts):
        for text in texts:
            self.team.say("ada", text)

    def chat(self, **counts):
        wait_for("chat is %s" % counts, lambda: all(self.status()["chat"][name] == n for name, n in counts.items()))

    def method(self):
        return next(method for method in self.status()["delivery"]["methods"] if method["method"] == "socket")

    def follow(self, *options):
        follower = Follower(self, *options)
        wait_for("the follower is there", lambda: self.method()["available"])
        return follower

    def test_each_message_comes_once_and_is_acknowledged_after_it_was_written(self):
        follower = self.follow()
        self.assertTrue(self.method()["chosen"])
        for n in range(30):
            self.say("message %d" % n)
        messages = follower.wait_texts(["message %d" % n for n in range(30)])
        self.assertEqual({m["attempts"] for m in messages}, {1})
        self.chat(delivered=30, queued=0, offered=0)
        self.assertEqual(follower.end(signal.SIGTERM), 0)
        wait_for("the method is empty again", lambda: not self.method()["available"])
        self.assertEqual(follower.said(), "")

    def test_it_waits_for_an_idle_lead_as_everybody(self):
        follower = self.follow()
        self.daemon.cli("lead", "busy")
        self.say("later")
        self.chat(queued=1)
        self.assertEqual(follower.texts(), [])
        self.daemon.cli("lead", "idle")
        follower.wait_texts(["later"])

    def test_of_a_lead_that_has_gone_it_says_why_nothing_comes(self):
        self.daemon.cli("lead", "offline")
        self.say("for whoever comes")
        follower = self.follow()
        wait_for("it is said", lambda: "the lead has gone, so messages wait" in follower.said())
        self.chat(queued=1)
        self.assertEqual(follower.texts(), [])
        self.daemon.cli("lead", "idle")
        follower.wait_texts(["for whoever comes"])

    def test_text_is_the_block_that_a_lead_reads(self):
        process = subprocess.Popen([self.daemon.program, "recv", "--follow", "--socket", self.daemon.socket], env=self.daemon.env,
                                   stdout=subprocess.PIPE)
        self.stops.append(process.stdout.close)
        self.stops.append(process.wait)
        self.stops.append(process.kill)
        self.say("hello")
        shown = b""
        while b"</teammate-message>\n" not in shown:
            more = os.read(process.stdout.fileno(), 4096)
            self.assertTrue(more)
            shown += more
        self.assertIn(b"hello", shown)
        self.chat(delivered=1)

    def test_with_acks_a_key_acknowledges_its_message_and_those_before_it_at_once(self):
        follower = self.follow("--ack-from-stdin")
        self.say("1", "2", "3", "4")
        keys = [m["message_key"] for m in follower.wait_texts(["1", "2", "3", "4"])]
        self.daemon.polled()
        self.chat(offered=4, delivered=0)
        follower.acknowledge(keys[2])
        self.chat(offered=1, delivered=3)  # no further message was needed for that
        follower.acknowledge("nonsense\x1b[2J")
        wait_for("it is said", lambda: "no message with this key" in follower.said())
        self.assertNotIn("\x1b", follower.said())
        follower.acknowledge(keys[3])
        follower.process.stdin.close()
        self.assertEqual(follower.process.wait(LIMIT_S), 0)
        self.chat(offered=0, delivered=4)

    def test_the_end_of_the_input_gives_back_what_was_not_acknowledged(self):
        follower = self.follow("--ack-from-stdin")
        self.say("1", "2")
        keys = [m["message_key"] for m in follower.wait_texts(["1", "2"])]
        follower.process.stdin.write(keys[0].encode())  # the last line needs no newline
        follower.process.stdin.close()
        self.assertEqual(follower.process.wait(LIMIT_S), 0)
        self.chat(delivered=1, queued=1)

    def test_a_killed_follower_gets_again_what_it_did_not_acknowledge_and_only_that(self):
        follower = self.follow("--ack-from-stdin")
        self.say("1", "2", "3", "4", "5")
        keys = [m["message_key"] for m in follower.wait_texts(["1", "2", "3", "4", "5"])]
        follower.acknowledge(keys[1])
        self.chat(delivered=2, offered=3)
        follower.end(signal.SIGKILL)
        again = self.follow("--ack-from-stdin").wait_texts(["3", "4", "5"])
        self.assertEqual([m["message_key"] for m in again], keys[2:])
        self.assertEqual([m["attempts"] for m in again], [2, 2, 2])

    def test_after_says_what_had_been_taken_although_its_acknowledgment_was_lost(self):
        follower = self.follow("--ack-from-stdin")
        self.say("1", "2", "3", "4", "5")
        keys = [m["message_key"] for m in follower.wait_texts(["1", "2", "3", "4", "5"])]
        follower.end(signal.SIGKILL)
        again = self.follow("--ack-from-stdin", "--after", keys[2]).wait_texts(["4", "5"])
        self.assertEqual([m["attempts"] for m in again], [2, 2])
        self.chat(delivered=3, offered=2)

    def test_after_an_unknown_key_takes_nothing_away(self):
        self.say("1")
        self.chat(queued=1)
        self.follow("--after", "0" * 32).wait_texts(["1"])

    def test_a_daemon_that_is_killed_and_starts_again_is_found_and_nothing_is_lost(self):
        follower = self.follow("--ack-from-stdin")
        self.say("1", "2", "3")
        keys = [m["message_key"] for m in follower.wait_texts(["1", "2", "3"])]
        self.daemon.kill()
        wait_for("it is said", lambda: "waiting until it serves us again" in follower.said())
        follower.acknowledge(keys[0])  # while there is nobody to tell
        self.say("4")
        self.daemon.start()
        messages = follower.wait_texts(["1", "2", "3", "2", "3", "4"])
        self.assertEqual([m["attempts"] for m in messages], [1, 1, 1, 2, 2, 1])
        follower.acknowledge(messages[-1]["message_key"])
        self.chat(delivered=4, offered=0, queued=0)
        self.assertEqual(follower.said().count("waiting until it serves us again"), 1)
        self.assertEqual(follower.said().count("the daemon serves us again"), 1)
        self.assertEqual(follower.end(signal.SIGINT), 0)

    def test_without_acks_a_killed_daemon_costs_no_message_and_repeats_only_with_a_label(self):
        follower = self.follow()
        said = []
        for round_number in range(4):
            for n in range(10):
                said.append("%d.%d" % (round_number, n))
                self.say(said[-1])
            self.daemon.kill()
            self.daemon.start()
        wait_for("everything came", lambda: set(follower.texts()) == set(said))
        first = {}
        for message in follower.messages():
            if message["text"] in first:
                self.assertGreater(message["attempts"], 1, message)
            first.setdefault(message["text"], message)
        self.assertEqual(list(first), said)
        self.chat(queued=0, offered=0, delivered=40)

    def test_a_daemon_that_was_told_to_leave_is_waited_for_too(self):
        follower = self.follow()
        self.daemon.stop()
        self.say("afterwards")
        self.daemon.start()
        follower.wait_texts(["afterwards"])

    def test_two_followers_share_and_one_does_not_acknowledge_for_the_other(self):
        first, second = self.follow("--ack-from-stdin", "--max", "1"), self.follow("--ack-from-stdin", "--max", "1")
        both = lambda: first.messages() + second.messages()  # noqa: E731
        for stopped, said in ((first, range(10)), (second, range(10, 20))):  # which at most takes the one that it waits for
            hold_still(stopped.process.pid)
            self.say(*[str(n) for n in said])
            wait_for("all but one at most came to the other", lambda: len(both()) >= said[-1])
            stopped.process.send_signal(signal.SIGCONT)
        wait_for("all came to one of them", lambda: len(both()) == 20)
        self.assertEqual({m["text"] for m in both()}, {str(n) for n in range(20)})
        self.assertTrue(first.messages() and second.messages())
        count = len(first.messages())
        last = max((first, second), key=lambda f: int(f.texts()[-1]))
        other = second if last is first else first
        left = {m["text"] for m in other.messages()}
        last.acknowledge(last.messages()[-1]["message_key"])
        self.chat(offered=len(left), delivered=20 - len(left))
        self.assertGreater(count, 0)
        other.end(signal.SIGKILL)
        wait_for("the other one's came again", lambda: {m["text"] for m in last.messages() if m["attempts"] == 2} == left)

    def test_ctrl_c_leaves_at_once_with_0_also_when_nobody_reads_and_nothing_is_lost(self):
        follower = self.follow()
        big = "x" * 40_000
        self.say(*[big + str(n) for n in range(10)])
        wait_for("its pipe is full", lambda: self.status()["chat"]["offered"] > 0)
        self.daemon.polled()
        self.assertEqual(follower.end(signal.SIGINT), 0)
        wait_for("the others are back in the queue", lambda: self.status()["chat"]["offered"] == 0)
        chat = self.status()["chat"]
        self.assertEqual(chat["queued"] + chat["delivered"], 10)
        self.assertLessEqual(chat["delivered"], 1)  # 64 KiB of pipe take one, when it came before the others

    def test_a_reader_that_went_away_ends_it_before_it_takes_another_message(self):
        follower = self.follow()
        follower.process.stdout.close()
        self.assertEqual(follower.process.wait(LIMIT_S), 1)
        self.say("precious")
        self.chat(queued=1)
        self.assertIn("the reader of the output is gone", follower.said())

    def test_without_a_daemon_or_with_a_wrong_command_line_it_does_not_wait(self):
        self.daemon.stop()
        self.daemon.cli("recv", "--follow", expect=3)
        for wrong in (["--ack-from-stdin"], ["--after", "k"], ["--follow", "--wait"], ["--follow", "--no-ack"],
                      ["--follow", "--ack-from-stdin", "--format", "text"]):
            self.daemon.cli("recv", *wrong, expect=2)


if __name__ == "__main__":
    unittest.main()
