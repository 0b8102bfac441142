// Exit codes, by one rule for all commands: a code depends on the mistake, not on who notices it. Source:
// docs/reference/exit-codes.md, "Exit codes".
#pragma once

#include "schema/error.hpp"

namespace inbox_poller::poller::cli {

enum class ExitCode {
  done = 0,
  failed = 1,       // rejected by the daemon, or a fault
  usage = 2,        // wrong command line or configuration: a retry does not help
  no_daemon = 3,    // nothing answers on the control socket: a retry may help
  not_found = 4,    // the object does not exist, or there is nothing to show
  not_in_time = 5,  // the wait timed out; the work continues
};

/// Returns the exit code for an error's code; `failed` for each code that the table does not list.
ExitCode exit_code_of(const Error&);

/// Returns the error of a command line that cannot be followed, for ExitCode::usage.
inline Error usage_error(std::string message) { return {"command.usage", std::move(message)}; }

}  // namespace inbox_poller::poller::cli
