#include "poller/child.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "poller/filesystem.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::child_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using namespace std::chrono_literals;

namespace {

ChildCommand shell(const std::string& script) {
  ChildCommand command;
  command.argv = {"sh", "-c", script};
  return command;
}

ChildResult run(ChildCommand command) {
  auto result = run_awaitable(run_child(std::move(command)));
  REQUIRE(result);
  return *result;
}

/// True when we have no child left, running or waiting to be reaped.
bool no_child() {
  const auto reaped = ::waitpid(-1, nullptr, WNOHANG);
  return reaped == -1 && errno == ECHILD;
}

}  // namespace

TEST_CASE("a child gets its arguments as they are, its input, and our environment with what is added") {
  ::setenv("CHILD_TEST_OURS", "kept", 1);
  ::setenv("CHILD_TEST_REPLACED", "old", 1);
  auto command =
      shell(R"(cat; printf '|%s|%s %s|' "$1" "$CHILD_TEST_OURS" "$CHILD_TEST_REPLACED"; env | grep -c REPLACED)");
  command.argv.insert(command.argv.end(), {"sh", "$HOME; rm -rf *"});
  command.input = "from us";
  command.environment = {{"CHILD_TEST_REPLACED", "new"}};
  const auto result = run(command);
  CHECK(result.exit_code == 0);
  CHECK(result.output == "from us|$HOME; rm -rf *|kept new|1\n");
  CHECK(result.errors.empty());
  CHECK(no_child());
}

TEST_CASE("the two streams and the exit code are told apart") {
  const auto result = run(shell("echo out; echo err >&2; exit 7"));
  CHECK(result.exit_code == 7);
  CHECK(result.output == "out\n");
  CHECK(result.errors == "err\n");
}

TEST_CASE("more input and output than a pipe holds passes through, and what is over the limit is dropped") {
  std::string much;
  while (much.size() < 400'000) much += "0123456789abcdef\n";
  auto command = shell("cat");
  command.input = much;
  CHECK(run(command).output == much);
  command.most_output = 1000;
  CHECK(run(command).output == much.substr(0, 1000));
  command.most_output = 0;
  CHECK(run(command).output.empty());
}

TEST_CASE("a child that does not read its input is no obstacle") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // as the daemon does
  auto command = shell("trap - PIPE; exec true");
  command.input = std::string(400'000, 'x');
  CHECK(run(command).exit_code == 0);
  std::signal(SIGPIPE, before);
}

TEST_CASE("signals that we ignore kill a child as usual") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const auto result = run(shell("kill -PIPE $$; echo survived"));
  std::signal(SIGPIPE, before);
  CHECK(result.exit_code == -1);
  CHECK(result.signal == SIGPIPE);
  CHECK(result.output.empty());
}

TEST_CASE("at the timeout the child dies with its whole group, and nothing is left to reap") {
  auto command = shell("sleep 6000 & echo $!; sleep 6000");
  command.timeout = 200ms;
  const auto result = run(command);
  CHECK(result.timed_out);
  CHECK(result.signal == SIGKILL);
  CHECK(no_child());
  const auto grandchild = std::stol(result.output);
  // Init reaps it; until then it is a zombie that no signal reaches any more.
  CHECK(holds_at_last([&] {
    const auto stat = std::filesystem::path("/proc") / std::to_string(grandchild) / "stat";
    std::ostringstream says;
    says << std::ifstream(stat).rdbuf();  // empty once it is reaped
    return ::kill(static_cast<pid_t>(grandchild), 0) == -1 || says.str().find(") Z ") != std::string::npos;
  }));
}

TEST_CASE("what a child leaves in the background keeps nobody waiting") {
  const ScratchDir scratch;
  const auto file = scratch.path("pid");
  auto command = shell("sleep 600 & echo $! >" + file.string() + "; echo done");
  const auto result = run(command);
  CHECK(result.output == "done\n");
  CHECK_FALSE(result.timed_out);
  CHECK(::kill(static_cast<pid_t>(std::stol(slurp(file))), SIGKILL) == 0);  // it is still there
}

TEST_CASE("a child has no descriptor of ours") {
  const Fd inherited(::open("/dev/null", O_RDONLY));  // no O_CLOEXEC: as from whoever started us
  REQUIRE(inherited.get() > 2);
  const auto number = std::to_string(inherited.get());
  CHECK(run(shell("test -e /dev/fd/" + number + " && echo open || echo closed")).output == "closed\n");
}

TEST_CASE("a program that is not there is an error that names it") {
  ChildCommand command;
  command.argv = {"/no/such/program"};
  const auto result = run_awaitable(run_child(command));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == "child.start");
  CHECK_THAT(result.error().message, Contains("/no/such/program"));
  CHECK(no_child());
}

TEST_CASE("an abandoned call takes its child with it") {
  {
    boost::asio::io_context context{1};
    std::optional<Result<ChildResult>> result;
    boost::asio::co_spawn(context, keep_result(run_child(shell("sleep 60")), result), [](std::exception_ptr) {});
    REQUIRE(holds_after([] { return !no_child(); }, [&] { context.run_for(10ms); }));  // clock: until the condition is checked again
  }
  CHECK(no_child());
}

}  // namespace inbox_poller::child_test
