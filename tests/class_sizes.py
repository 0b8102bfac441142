#!/usr/bin/env python3
"""No class is too big to be held in one head, but those that are named here with a reason.

class_sizes.py ROOT        checks the headers below ROOT, leaves with 1 and `file: class: what` where one is too big
class_sizes.py --list ROOT the twenty biggest
class_sizes.py --self-test counts a class that is known
"""

import pathlib
import re
import sys

ROOMS = ["schema", "config", "handlers", "poller"]
MAX_MEMBERS = 19
MAX_METHODS = 39

# What is bigger, and why it may be. A row that is not needed any more is an error, so the list only gets shorter.
BIGGER = {
    "config/argument_reader.hpp: ArgumentReader": "what has been read of one command line, word by word; pure",
    "poller/cli/top/top.hpp: Top": "the whole state of a screen; pure, the screen itself is elsewhere",
    "poller/control/verbs.hpp: Verbs": "one method for each verb of the socket, and nearly no state",
    "poller/cluster/node_state.hpp: NodeState": "what four parts of one host's service share",
    "poller/ledger/node_mail.hpp: NodeMailTable": "one method for each statement about mail between hosts, and no state of its own",
    "poller/broker/redis_mailbox.hpp: RedisMailbox": "three ports of one system at once",
    "poller/mailbox/jsonl/jsonl_mailbox.hpp: JsonlMailbox": "two ports of one system at once",
    "poller/mailbox/arrays/arrays_mailbox.hpp: ArraysMailbox": "the port has 19 calls, and each box its own reading",
    "poller/mailbox/maildir/maildir_mailbox.hpp: MaildirMailbox": "likewise",
}


def without_comments(text):
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    return re.sub(r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", "", text, flags=re.S | re.M)


def matching(text, start, opening="{", closing="}"):
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if depth == 0:
            return at
    return len(text) - 1


def bodies(text):
    """(name, body) of every class and struct, nested ones as well."""
    for head in re.finditer(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s+)?([\w:]+)(?:\s+final)?\s*(?::[^;{]*)?\{", text):
        if re.search(r"\benum\s+$", text[:head.start()]):
            continue
        yield head[1], text[head.end():matching(text, head.end() - 1)]


def plain(text):
    """Without what stands in angle brackets: a function type in one is no function."""
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>;{}]*>", "", text)
    return text


def statements(body):
    """The declarations of a class, each without what stands in its braces."""
    out = ""
    at = 0
    while at < len(body):
        if body[at] == "{":
            at = matching(body, at)
            out += "{}"
            # The end of a function, which has no semicolon.
            if re.search(r"\)[^;{}=]*(?::[^;]*)?\{\}$", out.rsplit(";", 1)[-1]) and not re.match(r"\s*[;,{]", body[at + 1:]):
                out += ";"
        else:
            out += body[at]
        at += 1
    out = re.sub(r"\b(?:public|private|protected)\s*:", "", out)
    return [" ".join(one.split()) for one in out.split(";") if one.strip()]


def sizes(body):
    """How many data members and methods it has of its own."""
    members = methods = 0
    for one in statements(body):
        one = re.sub(r"^(?:\[\[\w+\]\]\s*)+", "", plain(one))
        if re.match(r"(?:using|friend|enum|static_assert|typedef|template .*(?:class|struct) \w+ \{\}$|(?:class|struct|union)\b)", one):
            continue
        if one.startswith("static constexpr") or one.startswith("BOOST_"):
            continue
        if re.match(r"[^={]*\(", one):
            methods += 1
        else:
            members += 1 + re.sub(r"=[^,]*|\{\}", "", one).count(",")
    return members, methods


def is_big(members, methods):
    """A record, which only has members, is read like a table."""
    return (members > MAX_MEMBERS and methods > 0) or methods > MAX_METHODS


def measured(root):
    found = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.hpp")):
            for name, body in bodies(without_comments(path.read_text("utf-8"))):
                found[path.relative_to(root).as_posix() + ": " + name] = sizes(body)
    return found


def self_test():
    text = """
class A final : public B {
 public:
  explicit A(int x) : x_(x), y_{1} {}  // a comment; with a semicolon
  [[nodiscard]] bool may() const { return x_ > 0; }
  using T = int;
  struct Inner {
    int a = 0, b{};
    std::function<void(int)> f = {};
  };
 private:
  Status go(std::function<void()> f);
  std::function<Status(Tx&)> work_;
  const int x_;
  std::map<std::string, int> y_{1}, z_;
  static constexpr int most = 3;
};"""
    found = dict((name, sizes(body)) for name, body in bodies(without_comments(text)))
    assert found == {"A": (4, 3), "Inner": (3, 0)}, found
    print("counted")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    lists = "--list" in sys.argv
    root = pathlib.Path(sys.argv[-1])
    found = measured(root)
    if lists:
        for name, (members, methods) in sorted(found.items(), key=lambda one: -max(one[1][0] * 2, one[1][1]))[:20]:
            print("%3d members %3d methods  %s" % (members, methods, name))
        return None
    problems = ["%s: %d members, %d methods: at most %d and %d, or a reason in tests/class_sizes.py"
                % (name, members, methods, MAX_MEMBERS, MAX_METHODS)
                for name, (members, methods) in found.items()
                if is_big(members, methods) and name not in BIGGER]
    problems += ["tests/class_sizes.py: %s is not that big (any more)" % name for name in BIGGER
                 if not is_big(*found.get(name, (0, 0)))]
    print("\n".join(problems) or "%d classes, none too big but %d" % (len(found), len(BIGGER)))
    return 1 if problems else None


sys.exit(main())
