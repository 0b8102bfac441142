"""Answers from notices: the tokens behind the buttons, and which request a token answers. `watch` uses it; it has no network.

A token is random, belongs to one request and one answer, counts once, and ends with its request or with `watch`. Only digests are kept.
"""

import hashlib
import json
import secrets
import threading

import notice

MOST_ENDED = 1000  # digests that are kept to tell a used or expired token from an unknown one


def is_shown_whole(request):
    """True if the notice's line is all that an approval would allow: nothing is cut, masked, hidden or left out."""
    line = notice.short(request["subject"])
    if line != request["subject"]:
        return False
    kind, body = request.get("kind"), request.get("body", "")
    if kind == "sandbox":
        return body in ("", line)
    if kind != "permission":
        return False
    try:
        given = json.loads(body)
    except ValueError:
        return False
    return (isinstance(given, dict) and given.keys() <= {"command", "description"} and isinstance(given.get("command"), str)
            and line == "%s: %s" % (request.get("tool"), given["command"]))


class Answers:
    """Gives tokens out and takes them back. `decide(verb, request)` returns the outcome, or raises OSError without a daemon."""

    def __init__(self, decide, say, now_ms):
        self.decide, self.say, self.now_ms = decide, say, now_ms
        self.given = {}   # message key -> {answer: token}
        self.known = {}   # digest -> (answer, request)
        self.ended = {}   # digest -> why it does not count any more
        self.lock = threading.Lock()

    @staticmethod
    def digest(token):
        return hashlib.sha256(token.encode("utf-8", "replace")).digest()

    def buttons(self, request):
        """Returns {answer: token} for the notice of one request. `approve` is there only if the notice shows the whole request."""
        with self.lock:
            key = request["message_key"]
            if key not in self.given:
                self.given[key] = {answer: secrets.token_urlsafe(24) for answer in ("approve", "deny")
                                   if answer == "deny" or is_shown_whole(request)}
                self.known.update((self.digest(token), (answer, request)) for answer, token in self.given[key].items())
            return self.given[key]

    def keep(self, keys):
        """Ends the tokens of all requests but these."""
        with self.lock:
            for key in self.given.keys() - keys:
                self.end(key, "expired")

    def end(self, key, why):
        for token in self.given.pop(key).values():
            self.known.pop(self.digest(token), None)
            self.ended[self.digest(token)] = why
        while len(self.ended) > MOST_ENDED:
            del self.ended[next(iter(self.ended))]

    def take(self, token):
        """Answers the request of the token, and ends all tokens of this request. Each other token changes nothing and is reported."""
        digest = self.digest(token)
        with self.lock:
            if digest not in self.known:
                return self.say("an answer by a token that is %s was ignored" % self.ended.get(digest, "unknown"))
            answer, request = self.known[digest]
            tokens = self.given[request["message_key"]]
            is_over = 0 < request["deadline_ms"] <= self.now_ms()
            self.end(request["message_key"], "expired" if is_over else "used")
        name = "%s of %s (%s)" % (answer, notice.short(request.get("request_id", "")), notice.short(request["subject"]))
        if is_over:
            return self.say("%s: the token is expired; nothing was answered" % name)
        try:
            self.say("%s: %s" % (name, notice.visible(self.decide(answer, request))))
        except OSError as problem:
            with self.lock:  # nothing was decided, so that the same press counts when the daemon is there
                self.given[request["message_key"]] = tokens
                for one, its in tokens.items():
                    self.ended.pop(self.digest(its), None)
                    self.known[self.digest(its)] = (one, request)
            self.say("%s: the daemon took no answer (%s); press again" % (name, problem))
