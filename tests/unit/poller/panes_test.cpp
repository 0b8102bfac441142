// Against real tmux servers on sockets of their own; never against the one that a person may be working in.
#include "poller/panes.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "poller/child.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::panes_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using namespace std::chrono_literals;

namespace {

bool has_tmux() {
  ChildCommand command;
  command.argv = {"tmux", "-V"};
  if (run_awaitable(run_child(command))) return true;
  std::cout << "SKIPPED: tmux is not installed, so nothing about panes was tested\n";
  return false;
}

/// A private tmux server; its socket lies in the scratch folder.
struct Server {
  ScratchDir scratch;
  std::vector<std::string> command{"tmux", "-f", "/dev/null", "-L", "ip" + std::to_string(::getpid())};
  SystemProcesses processes;
  TmuxPanes panes{command, processes};

  Server() { ::setenv("TMUX_TMPDIR", scratch.path().c_str(), 1); }
  ~Server() {
    static_cast<void>(tmux({"kill-server"}));
    ::unsetenv("TMUX_TMPDIR");
  }

  ChildResult tmux(const std::vector<std::string>& arguments) const {
    ChildCommand child;
    child.argv = command;
    child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
    auto result = run_awaitable(run_child(child));
    REQUIRE(result);
    return *result;
  }
  /// Opens a pane with this program; returns its id.
  std::string open(const std::string& program) const {
    const bool running = tmux({"has-session"}).exit_code == 0;
    auto opened = tmux({running ? "new-window" : "new-session", "-d", "-P", "-F", "#{pane_id}", program});
    REQUIRE(opened.exit_code == 0);
    opened.output.pop_back();
    return opened.output;
  }
  std::optional<Pane> find(const std::string& id) {
    auto found = run_awaitable(panes.find(id));
    REQUIRE(found);
    return *found;
  }
  Front front(const std::string& id) {
    auto front = run_awaitable(panes.front(id));
    REQUIRE(front);
    REQUIRE(*front);
    return **front;
  }
  Typed paste(const Front& seen, const std::string& text) { return run_awaitable(panes.paste(seen, "ip-test", text)); }
  Typed enter(const Front& seen) { return run_awaitable(panes.press(seen, Key::enter)); }
  /// Opens a pane whose program keeps every line that is typed, and waits until it is there.
  std::string open_listener() const {
    const auto file = (scratch.path() / "typed").string();
    auto id = open("stty -echo; touch " + file + "; exec cat > " + file);
    REQUIRE(holds_at_last([&] {
      return std::filesystem::exists(file) && tmux({"display-message", "-p", "-t", id, "#{pane_current_command}"}).output == "cat\n";
    }));
    return id;
  }
  std::string typed() const {
    std::ifstream file(scratch.path() / "typed");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool comes_in(const std::string& text) const {
    return holds_at_last([&] { return typed() == text; });
  }
  bool has_buffers() const { return !tmux({"list-buffers"}).output.empty(); }
  /// Waits until the pane is as asked for.
  template <class Predicate>
  bool comes_true(const std::string& id, Predicate predicate) {
    return holds_at_last([&] { return predicate(find(id)); });
  }
};

}  // namespace

TEST_CASE("where no server runs there are no panes") {
  if (!has_tmux()) return;
  Server server;
  const auto never_ran = run_awaitable(server.panes.list());
  REQUIRE(never_ran);
  CHECK(never_ran->empty());
  server.open("sleep 60");
  server.tmux({"kill-server"});
  // A server that is just leaving answers neither so nor so; that is an error, and nothing is done because of it.
  auto ended = run_awaitable(server.panes.list());
  for (int looks = 0; !ended && looks < 100; ++looks) ended = run_awaitable(server.panes.list());
  REQUIRE(ended);
  CHECK(ended->empty());
  CHECK_FALSE(server.find("%0"));
}

TEST_CASE("a pane comes with its server and its first process") {
  if (!has_tmux()) return;
  Server server;
  const auto id = server.open("exec sleep 61");
  const auto other = server.open("exec sleep 62");
  const auto pane = server.find(id);
  REQUIRE(pane);
  CHECK(pane->id == id);
  CHECK_FALSE(pane->dead);
  CHECK(server.processes.is_alive(pane->server));
  CHECK(server.processes.is_alive(pane->first));
  CHECK(server.processes.arguments(pane->first) == std::vector<std::string>{"sleep", "61"});
  CHECK(run_awaitable(server.panes.list())->size() == 2);
  CHECK(is_same(*pane, *server.find(id)));
  CHECK_FALSE(is_same(*pane, *server.find(other)));
  CHECK_FALSE(server.find("%99"));
  CHECK_FALSE(server.find("%0;kill-server"));
}

TEST_CASE("closing closes that pane and no other, and its process gets its hangup") {
  if (!has_tmux()) return;
  Server server;
  const auto id = server.open("exec sleep 60");
  const auto other = server.open("exec sleep 60");
  const auto pane = *server.find(id);
  CHECK(run_awaitable(server.panes.close(pane)));
  CHECK_FALSE(server.find(id));
  CHECK(server.find(other));
  CHECK(holds_at_last([&] { return !server.processes.is_alive(pane.first); }));
  CHECK_FALSE(server.processes.is_alive(pane.first));
  CHECK(run_awaitable(server.panes.close(pane)));  // gone already
}

TEST_CASE("a dead pane is known by its process's number, but only within its server") {
  const Pane then{"%1", {100, "10"}, {200, "20"}, false};
  const Pane ended{"%1", {100, "10"}, {200, ""}, true};
  CHECK(is_same(then, then));
  CHECK(is_same(ended, then));
  CHECK_FALSE(is_same({"%1", {100, "11"}, {200, ""}, true}, then));  // the server's number was given out anew
  CHECK_FALSE(is_same({"%1", {101, "10"}, {200, ""}, true}, then));
  CHECK_FALSE(is_same({"%1", {100, "10"}, {201, ""}, true}, then));
  CHECK_FALSE(is_same({"%1", {100, "10"}, {200, "21"}, false}, then));
  CHECK_FALSE(is_same({"%2", {100, "10"}, {200, "20"}, false}, then));
}

TEST_CASE("a pane of another server with the same id is not closed") {
  if (!has_tmux()) return;
  Server server;
  const auto id = server.open("exec sleep 60");
  const auto first_server = *server.find(id);
  server.tmux({"kill-server"});
  CHECK(holds_at_last([&] { return !server.processes.is_alive(first_server.server); }));
  REQUIRE(server.open("exec sleep 60") == id);
  CHECK(run_awaitable(server.panes.close(first_server)));
  const auto now = server.find(id);
  REQUIRE(now);
  CHECK_FALSE(is_same(*now, first_server));
}

TEST_CASE("a pane in which another program was started is not closed") {
  if (!has_tmux()) return;
  Server server;
  const auto id = server.open("exec sleep 60");
  const auto before = *server.find(id);
  REQUIRE(server.tmux({"respawn-pane", "-k", "-t", id, "exec sleep 60"}).exit_code == 0);
  CHECK(run_awaitable(server.panes.close(before)));
  const auto now = server.find(id);
  REQUIRE(now);
  CHECK_FALSE(is_same(*now, before));
}

TEST_CASE("a pane that is kept open after its process ended is still the same, and can be closed") {
  if (!has_tmux()) return;
  Server server;
  server.open("exec sleep 60");
  REQUIRE(server.tmux({"set-option", "-g", "remain-on-exit", "on"}).exit_code == 0);
  const auto id = server.open("exec sleep 60");
  const auto alive = *server.find(id);
  REQUIRE(server.processes.signal(alive.first, SIGKILL));
  REQUIRE(server.comes_true(id, [](const std::optional<Pane>& pane) { return pane && pane->dead; }));
  const auto dead = *server.find(id);
  CHECK(is_same(dead, alive));
  CHECK(run_awaitable(server.panes.close(alive)));
  CHECK_FALSE(server.find(id));
}

TEST_CASE("tmux that is not there, fails, hangs or says what we do not understand is an error that says so") {
  SystemProcesses processes;
  const std::vector<std::pair<std::string, std::string>> answers{
      {"exit 3", "exit code 3"},
      {"echo 'error connecting to /x (Permission denied)' >&2; exit 1", "Permission denied"},
      {"sleep 60", "within 2 s"},
      {"echo '%1 2'", "found"},
      {"echo '%1 1 1 0 more'", "found"},
      {"echo '%1;kill-server 1 1 0'", "found"},
      {"echo '%1 1 1 2'", "found"},
      {"echo '%1 -1 1 0'", "found"},
      {"printf '%%1 1 1 0'", "found"},
      {"echo '%1 2147483647 1 0'", "another container"}};
  for (const auto& [script, said] : answers) {
    CAPTURE(script);
    TmuxPanes panes({"sh", "-c", script}, processes);
    const auto found = run_awaitable(panes.find("%1"));
    REQUIRE_FALSE(found);
    CHECK(found.error().code == "panes.unavailable");
    CHECK_THAT(found.error().message, Contains(said));
  }
  TmuxPanes missing({"/no/such/tmux"}, processes);
  const auto found = run_awaitable(missing.find("%1"));
  REQUIRE_FALSE(found);
  CHECK(found.error().code == "panes.unavailable");
}

TEST_CASE("what is in front of a pane is told with it") {
  if (!has_tmux()) return;
  Server server;
  const auto id = server.open_listener();
  auto front = server.front(id);
  CHECK(is_same(front.pane, *server.find(id)));
  CHECK(front.command == "cat");
  CHECK_FALSE(front.in_mode);
  CHECK(front.takes_input);
  CHECK_FALSE(front.synchronized);
  server.tmux({"copy-mode", "-t", id});
  server.tmux({"select-pane", "-d", "-t", id});
  server.tmux({"set-option", "-w", "-t", id, "synchronize-panes", "on"});
  front = server.front(id);
  CHECK(front.in_mode);
  CHECK_FALSE(front.takes_input);
  CHECK(front.synchronized);
  for (const std::string none : {"%99", "%99;kill-server"}) {
    const auto found = run_awaitable(server.panes.front(none));
    REQUIRE(found);
    CHECK_FALSE(*found);
  }
  server.tmux({"kill-server"});
  CHECK(holds_at_last([&] { return !server.processes.is_alive(front.pane.server); }));
  const auto away = run_awaitable(server.panes.front(id));
  REQUIRE(away);
  CHECK_FALSE(*away);
}

TEST_CASE("a program that names itself in tmux's own language is only a name") {
  if (!has_tmux()) return;
  Server server;
  const auto file = (server.scratch.path() / "typed").string();
  const std::string name = "x,1}#{pid}##,%H;\nkill-server";
  const auto id = server.open("touch " + file + "; exec bash -c 'exec -a \"$0\" cat > " + file + "' '" + name + "'");
  REQUIRE(server.comes_true(id, [&](const auto&) { return server.front(id).command.starts_with("x,1}"); }));
  CHECK(server.paste(server.front(id), "hello"));
  REQUIRE(server.comes_true(id, [&](const auto&) { return server.front(id).screen.text.starts_with("hello"); }));
  CHECK(server.enter(server.front(id)));
  CHECK(server.comes_in("hello\n"));
}

TEST_CASE("a paste and Enter reach the program byte by byte, and no buffer stays") {
  if (!has_tmux()) return;
  Server server;
  const auto id = server.open_listener();
  const auto seen = server.front(id);
  const std::string text = "one\ttwo; #{pid} $(id) 'three'\nC-c Enter\n\n-x \xc3\xbc;";
  CHECK(server.paste(seen, text));
  CHECK_FALSE(server.has_buffers());
  CHECK(server.enter(seen));
  CHECK(server.comes_in(text + "\n"));
}

TEST_CASE("nothing is typed into a pane that is not as it was seen") {
  if (!has_tmux()) return;
  Server server;
  const auto id = server.open_listener();
  const auto seen = server.front(id);
  const auto refused = [&](const Front& front) {
    const auto pasted = server.paste(front, "hello");
    REQUIRE_FALSE(pasted);
    CHECK(pasted.how == Typed::How::changed);
    const auto entered = server.enter(front);
    REQUIRE_FALSE(entered);
    CHECK(entered.how == Typed::How::changed);
    CHECK_FALSE(server.has_buffers());
    CHECK(server.typed().empty());
  };
  SECTION("copy mode") {
    server.tmux({"copy-mode", "-t", id});
    refused(seen);
  }
  SECTION("no input") {
    server.tmux({"select-pane", "-d", "-t", id});
    refused(seen);
  }
  SECTION("shared input") {
    server.tmux({"set-option", "-w", "-t", id, "synchronize-panes", "on"});
    refused(seen);
  }
  SECTION("another program in front") {
    auto other = seen;
    other.command = "claude";
    refused(other);
  }
  SECTION("another first process") {
    auto other = seen;
    other.pane.first = *server.processes.identify(::getpid());
    refused(other);
  }
  SECTION("another server") {
    auto other = seen;
    other.pane.server = *server.processes.identify(::getpid());
    refused(other);
  }
  SECTION("the same number, started at another time") {
    auto other = seen;
    other.pane.first.started += "1";
    refused(other);
  }
  SECTION("another pane") {
    auto other = seen;
    other.pane.id = server.open("exec sleep 60");
    refused(other);
  }
  SECTION("a pane that has gone") {
    server.open("exec sleep 60");
    server.tmux({"kill-pane", "-t", id});
    CHECK(holds_at_last([&] { return !server.processes.is_alive(seen.pane.first); }));
    refused(seen);
  }
}

TEST_CASE("nothing is typed when anything on the screen is not as it was seen, from a given row on") {
  if (!has_tmux()) return;
  Server server;
  const auto file = (server.scratch.path() / "typed").string();
  const std::string shown = "it is,} #{x} 100%%H [a-z]*\\\\ \u2500\u2500 \u276f\u00a0\\n";
  const auto id =
      server.open("stty -echo; printf 'above\\n" + shown + "below $'; touch " + file + "; exec cat > " + file);
  REQUIRE(server.comes_true(id, [&](const auto&) {
    const auto front = server.front(id);
    return front.command == "cat" && front.screen.text.find("below") != std::string::npos;
  }));
  const auto seen = server.front(id);
  CHECK(seen.screen.cursor_row == 2);
  CHECK(seen.screen.cursor_column == 7);
  CHECK(seen.screen.width > 0);
  const auto refused = [&](const Front& front) {
    for (const auto& typed : {server.paste(front, "hello"), server.enter(front)}) {
      REQUIRE_FALSE(typed);
      CHECK(typed.how == Typed::How::changed);
    }
    CHECK(server.typed().empty());
  };
  auto other = seen;
  const auto replace = [&other](const std::string& what, const std::string& with) {
    other.screen.text.replace(other.screen.text.find(what), what.size(), with);
  };
  SECTION("another row") {
    replace("above", "Above");
    refused(other);
    other.held_from = 1;
    CHECK(server.paste(other, "hello"));
    CHECK(server.enter(other));
    CHECK(server.comes_in("hello\n"));
  }
  SECTION("a row that is longer") {
    replace("below", "belo");
    refused(other);
  }
  SECTION("the cursor") {
    ++other.screen.cursor_column;
    refused(other);
  }
  SECTION("the window's size") {
    ++other.height;
    refused(other);
  }
  SECTION("more than can be said to tmux") {
    for (int i = 0; i < 300; ++i)
      other.screen.text += "a row of some length, and then some more, " + std::to_string(i) + "\n";
    refused(other);
  }
  SECTION("as it was seen, one key after the other") {
    CHECK(run_awaitable(server.panes.press(seen, Key::erase_back)));
    CHECK(run_awaitable(server.panes.press(seen, Key::erase_line)));
    CHECK(server.paste(seen, "hello"));
    CHECK(server.enter(seen));
    CHECK(server.comes_in("hello\n"));
  }
}

TEST_CASE("tmux that fails or hangs while we type is an error, and the buffer is asked to go") {
  SystemProcesses processes;
  ScratchDir scratch;
  const auto log = (scratch.path() / "calls").string();
  Front seen;
  const auto self = *processes.identify(::getpid());
  seen.pane = {"%1", self, self, false};
  seen.command = "cat";
  for (const auto& [script, said] : std::vector<std::pair<std::string, std::string>>{{"exit 3", "exit code 3"},
                                                                                     {"echo no >&2; exit 1", "no"},
                                                                                     {"echo else", "exit code 0"},
                                                                                     {"sleep 60", "within 2 s"}}) {
    CAPTURE(script);
    TmuxPanes panes({"sh", "-c", "echo \"$*\" >> " + log + "; cat > /dev/null; " + script, "tmux"}, processes);
    const auto pasted = run_awaitable(panes.paste(seen, "ip-test", "text"));
    REQUIRE_FALSE(pasted);
    CHECK(pasted.how == Typed::How::unknown);
    CHECK_THAT(pasted.why, Contains(said));
    std::ifstream calls(log);
    std::string line, last;
    while (std::getline(calls, line)) last = line;
    CHECK(last == "delete-buffer -b ip-test");
    const auto entered = run_awaitable(panes.press(seen, Key::enter));
    REQUIRE_FALSE(entered);
    CHECK(entered.how == Typed::How::unknown);
  }
}

}  // namespace inbox_poller::panes_test
