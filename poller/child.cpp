#include "poller/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "config/trust.hpp"
#include "poller/filesystem.hpp"

extern char** environ;  // NOLINT: not declared by any POSIX header

// This program's own descriptors close on exec; these two also close the inherited ones.
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
#define INBOX_POLLER_HAS_CLOSEFROM 1
#endif
#endif

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using std::chrono::milliseconds;

/// Most programs end soon; a longer one is polled less often.
constexpr milliseconds first_look{2};
constexpr milliseconds longest_look{16};

Error not_started(int errno_value, std::string_view action, const std::string& program) {
  return {"child.start", io_error(errno_value, action, program).message};
}

struct Pipe {
  Fd read_end, write_end;
};

/// Creates a pipe with both ends above the standard descriptors, so that dup2() in the child never overwrites one.
Result<Pipe> make_pipe(const std::string& program) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return not_started(errno, "making a pipe for", program);
  const Fd low_read(ends[0]);
  const Fd low_write(ends[1]);
  Pipe pipe{Fd(::fcntl(ends[0], F_DUPFD_CLOEXEC, 3)), Fd(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3))};
  if (pipe.read_end.get() < 0 || pipe.write_end.get() < 0) return not_started(errno, "making a pipe for", program);
  return pipe;
}

/// This process's environment with some variables added or replaced.
class Environment {
 public:
  explicit Environment(const std::vector<std::pair<std::string, std::string>>& added) {
    for (const auto& [name, value] : added) texts_.push_back(name + "=" + value);
    for (char** ours = environ; *ours != nullptr; ++ours) {
      const std::string_view entry = *ours;
      const bool replaced = std::any_of(added.begin(), added.end(), [&](const auto& variable) {
        return entry.starts_with(variable.first) && entry.substr(variable.first.size()).starts_with('=');
      });
      if (!replaced) pointers_.push_back(*ours);
    }
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  [[nodiscard]] char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

/// File actions and attributes for posix_spawn.
struct SpawnPlan {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};

  SpawnPlan(int input, int output, int errors) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    for (const auto& [from, to] : {std::pair(output, STDOUT_FILENO), std::pair(errors, STDERR_FILENO)}) {
      if (from >= 0)
        posix_spawn_file_actions_adddup2(&actions, from, to);
      else
        posix_spawn_file_actions_addopen(&actions, to, "/dev/null", O_WRONLY, 0);
    }
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
#ifdef INBOX_POLLER_HAS_CLOSEFROM
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#elif defined(POSIX_SPAWN_CLOEXEC_DEFAULT)
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    for (const int ignored_by_us : {SIGPIPE, SIGXFSZ, SIGIO, SIGTTIN}) sigaddset(&signals, ignored_by_us);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setpgroup(&attributes, 0);  // a group of its own, so that a timeout also ends its children
    posix_spawnattr_setflags(&attributes, flags);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

/// Refuses a program that others could change, because it would run with this user's rights. A program from PATH is
/// trusted as PATH is. A missing one cannot start.
Status require_trusted_program(const std::string& program) {
  struct stat status {};
  if (program.find('/') == std::string::npos || ::stat(program.c_str(), &status) != 0) return Done{};
  const auto wrong = config::distrust(program, status.st_uid, status.st_mode, config::Trust::on_the_way, ::geteuid());
  auto reason = wrong ? wrong->told(program) : config::distrust_above(program);
  return reason ? Status(Error{"child.untrusted", *std::move(reason)}) : Status(Done{});
}

std::vector<char*> pointers_to(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (const auto& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

class Child {
 public:
  Child() = default;
  ~Child() {
    if (pid_ <= 0) return;
    kill();
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Status start(const ChildCommand& command) {
    const std::string& program = command.argv.at(0);
    TRY(require_trusted_program(program));
    Pipe input, output, errors;
    for (Pipe* pipe : {&input, &output, &errors}) {
      if (pipe != &input && command.most_output == 0) continue;
      TRY(auto made, make_pipe(program));
      *pipe = std::move(made);
    }
    const SpawnPlan plan(input.read_end.get(), output.write_end.get(), errors.write_end.get());
    const Environment environment(command.environment);
    pid_t pid = -1;
    const int failed = posix_spawnp(&pid, program.c_str(), &plan.actions, &plan.attributes,
                                    pointers_to(command.argv).data(), environment.get());
    if (failed != 0) return not_started(failed, "starting", program);
    pid_ = pid;
    input_ = std::move(input.write_end);
    output_ = std::move(output.read_end);
    errors_ = std::move(errors.read_end);
    for (const Fd* ours : {&input_, &output_, &errors_}) ::fcntl(ours->get(), F_SETFL, O_NONBLOCK);
    return Done{};
  }

  /// Writes what fits. Closes the pipe when all is written, or when the program has closed its end.
  void feed(std::string_view& rest) {
    while (input_.get() >= 0) {
      if (rest.empty()) return static_cast<void>(input_ = Fd());
      const auto n = ::write(input_.get(), rest.data(), rest.size());
      if (n > 0) {
        rest.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN || errno == EINTR) {
        return;
      } else {
        input_ = Fd();
      }
    }
  }

  void drain(ChildResult& result, std::size_t most) {
    drain(output_, result.output, most);
    drain(errors_, result.errors, most);
  }

  /// Does the same as waitpid() without waiting: 0 while it runs, -1 if unknown.
  int reap(int& status) {
    const auto reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped != 0) pid_ = -1;
    return static_cast<int>(reaped);
  }

  void kill() const {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // it may have left its group
  }

 private:
  static void drain(Fd& pipe, std::string& into, std::size_t most) {
    std::array<char, 16384> buffer;
    // Bounded, because the program may write faster than this reads; 16 reads exceed what a pipe holds.
    for (int reads = 0; reads < 16 && pipe.get() >= 0; ++reads) {
      const auto n = ::read(pipe.get(), buffer.data(), buffer.size());
      if (n > 0) {
        into.append(buffer.data(), std::min(static_cast<std::size_t>(n), most - into.size()));
      } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
      } else {
        pipe = Fd();
      }
    }
  }

  pid_t pid_ = -1;
  Fd input_, output_, errors_;
};

}  // namespace

asio::awaitable<Result<ChildResult>> run_child(ChildCommand command) {
  Child child;
  CO_TRY(child.start(command));
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const auto deadline = std::chrono::steady_clock::now() + command.timeout;
  std::string_view rest = command.input;
  ChildResult result;
  for (auto look = first_look;; look = std::min(look * 2, longest_look)) {
    child.feed(rest);
    int status = 0;
    const int reaped = child.reap(status);
    const int reap_errno = errno;
    child.drain(result, command.most_output);  // after the check, to include its last output
    if (reaped < 0) co_return not_started(reap_errno, "learning the end of", command.argv[0]);
    if (reaped > 0) {
      result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      co_return result;
    }
    const bool over = std::chrono::steady_clock::now() >= deadline || (command.given_up && command.given_up());
    if (!result.timed_out && over) {
      child.kill();
      result.timed_out = true;
    }
    timer.expires_after(look);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

Result<Companion> start_companion(const std::vector<std::string>& argv) {
  const std::string& program = argv.at(0);
  TRY(auto input, make_pipe(program));
  TRY(auto output, make_pipe(program));
  const SpawnPlan plan(input.read_end.get(), output.write_end.get(), STDERR_FILENO);
  Companion companion;
  const int failed =
      posix_spawnp(&companion.pid, program.c_str(), &plan.actions, &plan.attributes, pointers_to(argv).data(), environ);
  if (failed != 0) return not_started(failed, "starting", program);
  companion.input = std::move(input.write_end);
  companion.output = std::move(output.read_end);
  for (const Fd* ours : {&companion.input, &companion.output}) ::fcntl(ours->get(), F_SETFL, O_NONBLOCK);
  return companion;
}

}  // namespace inbox_poller::poller
