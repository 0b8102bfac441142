// Child processes without a shell: one that runs to its end while the decision thread continues, and one that stays.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "poller/filesystem.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

struct ChildCommand {
  std::vector<std::string> argv;                                 // argv[0] is searched for in PATH
  std::string input;                                             // written to standard input, which is then closed
  std::vector<std::pair<std::string, std::string>> environment;  // added to this process's, or replacing it
  std::chrono::milliseconds timeout{10'000};                     // then the process group is killed
  std::size_t most_output = 1 << 20;  // bytes of each stream; further bytes are dropped. 0: both to /dev/null
  std::function<bool()> given_up;     // once true, it is killed as after the timeout; empty: never
};

struct ChildResult {
  int exit_code = 0;  // -1: ended by a signal
  int signal = 0;
  bool timed_out = false;
  std::string output;  // standard output
  std::string errors;  // standard error
};

/// Runs a program until it was reaped; does not wait for its descendants in the background. It inherits only the three
/// standard descriptors. Destroying the coroutine kills the program. Errors: "child.start" (not started, or its end is
/// unknown), "child.untrusted" (others may change the program).
boost::asio::awaitable<Result<ChildResult>> run_child(ChildCommand command);

/// A program in a process group of its own, with this process's standard error. The parent's pipe ends do not block.
/// Its starter must wait for it.
struct Companion {
  pid_t pid = -1;
  Fd input;   // to its standard input
  Fd output;  // from its standard output
};

/// Starts argv[0], searched for in PATH. Error "child.start".
Result<Companion> start_companion(const std::vector<std::string>& argv);

}  // namespace inbox_poller::poller
