#include "poller/processes.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "poller/clock.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::processes_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;

namespace {

/// A real process, ended and reaped with this object.
class Running {
 public:
  explicit Running(std::vector<std::string> arguments, const std::string& program = {}) {
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int started[2];
    REQUIRE(::pipe(started) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      ::dup2(started[1], STDOUT_FILENO);
      ::close(started[0]);
      ::fcntl(started[1], F_SETFD, FD_CLOEXEC);
      ::execvp(program.empty() ? argv[0] : program.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(started[1]);
    output_ = started[0];
  }
  ~Running() {
    ::kill(-pid_, SIGKILL);
    if (!reaped_) ::waitpid(pid_, nullptr, 0);
    ::close(output_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  [[nodiscard]] long long pid() const { return pid_; }
  /// What it printed first.
  [[nodiscard]] std::string line() const {
    std::string text;
    for (char c = 0; ::read(output_, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
  /// Waits until it is a zombie.
  void let_end() const {
    siginfo_t info;
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) == 0);
  }
  int reap() {
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    reaped_ = true;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool reaped_ = false;
};

Running sleeping() { return Running({"sh", "-c", "echo up; exec sleep 60"}); }

SystemProcesses processes;

ProcessRef identified(long long pid) {
  const auto found = processes.identify(pid);
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("a process is told by its number and its start") {
  const Running child = sleeping();
  CHECK(child.line() == "up");
  const auto process = identified(child.pid());
  CHECK(process.pid == child.pid());
  CHECK(identified(child.pid()) == process);
  CHECK(processes.is_alive(process));
  CHECK_FALSE(processes.is_alive({process.pid, process.started + "1"}));
  CHECK_FALSE(processes.is_alive({process.pid, "1" + process.started}));
  const auto parent = parent_of(process);
  REQUIRE(parent);
  CHECK(*parent == identified(::getpid()));
  CHECK_FALSE(parent_of({process.pid, "1" + process.started}));
}

TEST_CASE("numbers that no process has, or that mean groups, are nobody") {
  for (const long long pid : {0LL, -1LL, -7LL, 1LL << 40, 2147483647LL}) {
    CAPTURE(pid);
    const auto found = processes.identify(pid);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == "process.gone");
    CHECK_FALSE(processes.is_alive({pid, ""}));
    CHECK(processes.family({pid, ""}).empty());
    CHECK(processes.arguments({pid, ""}).empty());
    CHECK_FALSE(parent_of({pid, ""}));
  }
}

TEST_CASE("a program may call itself anything") {
  ScratchDir scratch;
  const std::string program = scratch.path(") Z 1 (x) S 9 ").string();
  std::filesystem::copy_file("/bin/sh", program);
  const Running child({program, "-c", "echo up; sleep 60; exit"}, program);
  CHECK(child.line() == "up");
  const auto process = identified(child.pid());
  CHECK(processes.is_alive(process));
  const auto now = SystemClock().wall_ms();
  CHECK(processes.started_ms(process) > now - 60'000);
}

TEST_CASE("a zombie does not live, and neither does one that is reaped") {
  Running child({"true"});
  const auto process = processes.identify(child.pid());
  child.let_end();
  CHECK_FALSE(processes.identify(child.pid()));
  if (process) {
    CHECK_FALSE(processes.is_alive(*process));
    CHECK(processes.family(*process).empty());
    CHECK(processes.arguments(*process).empty());
    CHECK(processes.signal(*process, SIGTERM));
  }
  child.reap();
  CHECK_FALSE(processes.identify(child.pid()));
}

TEST_CASE("a family is the process and all its descendants, and nobody else") {
  const Running other = sleeping();
  const Running child({"sh", "-c", "sleep 60 & sh -c 'sleep 60 & echo up; wait' & wait"});
  CHECK(child.line() == "up");
  const auto first = identified(child.pid());
  const auto family = processes.family(first);
  CHECK(family.size() == 4);
  CHECK(family.front() == first);
  for (const auto& member : family) {
    CHECK(processes.is_alive(member));
    CHECK(::getpgid(static_cast<pid_t>(member.pid)) == static_cast<pid_t>(first.pid));
  }
  CHECK(processes.family({first.pid, "another start"}).empty());
  const auto ours = processes.family(identified(::getpid()));
  CHECK(std::find(ours.begin(), ours.end(), first) != ours.end());
}

TEST_CASE("families are looked at at one moment, and each process counts once") {
  const Running one({"sh", "-c", "sleep 60 & echo up; wait"});
  const Running other = sleeping();
  CHECK(one.line() == "up");
  CHECK(other.line() == "up");
  const auto first = identified(one.pid());
  const auto second = identified(other.pid());
  const auto gone = ProcessRef{second.pid, "another start"};
  CHECK(processes.families({}).empty());
  CHECK(processes.families({gone}).empty());
  CHECK(processes.families({first, second, first, gone}).size() == 3);
  CHECK(processes.families({processes.family(first).back(), first}).size() == 2);
}

TEST_CASE("in front of a shell is its only child; of several, without a terminal, none can be told") {
  const Running none = sleeping();
  const Running one({"sh", "-c", "sleep 60 & echo up; wait"});
  const Running two({"sh", "-c", "sleep 60 & sleep 61 & echo up; wait"});
  for (const auto* shell : {&none, &one, &two}) CHECK(shell->line() == "up");
  CHECK_FALSE(processes.in_front_of(identified(none.pid())).has_value());
  CHECK_FALSE(processes.in_front_of(identified(two.pid())).has_value());
  const auto shell = identified(one.pid());
  CHECK(processes.in_front_of(shell) == processes.family(shell).back());
  CHECK_FALSE(processes.in_front_of({shell.pid, "another start"}).has_value());
}

TEST_CASE("a shell is told by the name under which it was started") {
  for (const std::string name : {"sh", "/bin/bash", "-zsh", "/usr/local/bin/fish", "-/bin/dash", "rbash", "busybox",
                                 "/bin/bash-5.2", "-zsh-5.9", "ksh93", "zsh5", "ysh", "pwsh"})
    CHECK(is_shell({name}));
  for (const std::string name : {"claude", "node", "bash-language-server", "bash-", "", "/bin/sh/", "tmux"})
    CHECK_FALSE(is_shell({name}));
  CHECK_FALSE(is_shell({}));
}

TEST_CASE("who may be signalled: a process of our user, not us nor those we descend from") {
  const Running child = sleeping();
  CHECK(child.line() == "up");
  CHECK(processes.may_signal(identified(child.pid())));
  CHECK_FALSE(processes.may_signal(identified(::getpid())));
  CHECK_FALSE(processes.may_signal({1, ""}));
  CHECK_FALSE(processes.may_signal({-1, ""}));
  if (const auto parent = processes.identify(::getppid())) CHECK_FALSE(processes.may_signal(*parent));
}

TEST_CASE("arguments come one by one as they were given") {
  const Running child({"sh", "-c", "echo up; sleep 60; exit", "--agent-id", "w 1@t", "", "ü\n"});
  CHECK(child.line() == "up");
  const auto process = identified(child.pid());
  CHECK(processes.arguments(process) ==
        std::vector<std::string>{"sh", "-c", "echo up; sleep 60; exit", "--agent-id", "w 1@t", "", "ü\n"});
  CHECK(processes.arguments({process.pid, "another start"}).empty());
}

TEST_CASE("when a process started is told by the wall clock") {
  const auto before = SystemClock().wall_ms();
  const Running child = sleeping();
  CHECK(child.line() == "up");
  const auto after = SystemClock().wall_ms();
  const auto started = processes.started_ms(identified(child.pid()));
  constexpr long long tick = 20;  // its resolution, twice
  CHECK(started >= before - tick);
  CHECK(started <= after + tick);
  CHECK(processes.started_ms({1, "not a start mark"}) == 0);
  CHECK(processes.started_ms({1, ""}) == 0);
}

TEST_CASE("a signal reaches exactly the process that is meant") {
  Running child = sleeping();
  CHECK(child.line() == "up");
  const auto process = identified(child.pid());
  CHECK(processes.signal({process.pid, "an earlier process of this number"}, SIGKILL));  // it is gone: fine
  CHECK(processes.is_alive(process));
  CHECK(processes.signal(process, SIGTERM));
  const int status = child.reap();
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
  CHECK(processes.signal(process, SIGTERM));  // gone meanwhile
}

TEST_CASE("nobody signals us, those we descend from, process 1, or a group") {
  std::vector<ProcessRef> forbidden{{1, ""}, {0, ""}, {-1, ""}, {-::getpid(), ""}, identified(::getpid())};
  if (const auto parent = processes.identify(::getppid())) forbidden.push_back(*parent);
  if (const auto init = processes.identify(1)) forbidden.push_back(*init);
  for (const auto& process : forbidden) {
    CAPTURE(process.pid);
    const auto sent = processes.signal(process, 0);
    REQUIRE_FALSE(sent);
    CHECK(sent.error().code == "process.refused");
  }
}

TEST_CASE("processes of this user are found by a word of their command line") {
  // No child: between fork and exec it would have the same command line.
  const std::string still = "echo up; kill -STOP $$";
  const std::string word = "--only-" + std::to_string(::getpid());
  const Running child({"sh", "-c", still, "name", word});
  const Running other({"sh", "-c", "echo up " + word + "; kill -STOP $$"});
  CHECK(child.line() == "up");
  static_cast<void>(other.line());
  const auto found = processes.with_word(word);
  REQUIRE(found.size() == 1);
  CHECK(found[0] == identified(child.pid()));
  CHECK(processes.with_word(word + "-not").empty());
  const Running joined({"sh", "-c", still, "name", word + "=w1@t"});
  CHECK(joined.line() == "up");
  CHECK(processes.with_word(word).size() == 2);
}

TEST_CASE("a process that replaces its program after a search is found by the next one") {
  const std::string word = "--then-" + std::to_string(::getpid());
  const Running child({"sh", "-c", "echo up; kill -STOP $$; exec sh -c 'echo again; kill -STOP $$' name " + word});
  CHECK(child.line() == "up");
  REQUIRE(::waitpid(static_cast<pid_t>(child.pid()), nullptr, WUNTRACED) == child.pid());  // it has stopped
  CHECK(processes.with_word(word).empty());
  ::kill(static_cast<pid_t>(child.pid()), SIGCONT);
  CHECK(child.line() == "again");
  const auto found = processes.with_word(word);
  REQUIRE(found.size() == 1);
  CHECK(found[0] == identified(child.pid()));
}

#ifdef __linux__
TEST_CASE("a start is compared with the one that a client wrote, and a space with its own") {
  const auto self = identified(::getpid());
  const std::string mark = self.started.substr(0, self.started.find('@'));
  CHECK(began_at(self, mark) == true);
  CHECK(began_at(self, mark + "0") == false);
  for (const char* unknown : {"", "Thu Nov 20", "-1", "0x7"}) CHECK(began_at(self, unknown) == std::nullopt);
  CHECK(process_space().find("#pid:[") != std::string::npos);
}
#endif

}  // namespace inbox_poller::processes_test
