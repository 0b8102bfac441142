// Running a program without a shell: to its end, without waiting for it on the decision thread, or beside us.
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
  std::vector<std::string> argv;                                 // argv[0] is looked for in PATH
  std::string input;                                             // written to its standard input, then closed
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours, or in place of ours
  std::chrono::milliseconds timeout{10'000};                     // then it and its process group are killed
  std::size_t most_output = 1 << 20;  // of either stream; further bytes are dropped. 0: both go to /dev/null
  std::function<bool()> given_up;     // once true, it is killed as if its time were over; empty: never
};

struct ChildResult {
  int exit_code = 0;  // -1: ended by a signal
  int signal = 0;
  bool timed_out = false;
  std::string output;  // standard output
  std::string errors;  // standard error
};

/// Returns once it has ended and was reaped; what it left running in the background keeps nobody waiting. It gets no
/// descriptor of ours but the three standard ones. An abandoned call kills it. Error ("child.start"): it could not be
/// started, or its end not be learnt.
boost::asio::awaitable<Result<ChildResult>> run_child(ChildCommand command);

/// A program that runs beside us, in a process group of its own, with our error output. Our ends of its pipes do not
/// block. To be waited for by whoever started it.
struct Companion {
  pid_t pid = -1;
  Fd input;   // to its standard input
  Fd output;  // from its standard output
};

/// Starts argv[0], looked for in PATH. Error ("child.start"): it could not be started.
Result<Companion> start_companion(const std::vector<std::string>& argv);

}  // namespace inbox_poller::poller
