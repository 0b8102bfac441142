// What a command leaves with: one rule for all of them. It depends on the mistake and not on who notices it. Source:
// docs/reference/exit-codes.md, "Exit codes".
#pragma once

#include "schema/error.hpp"

namespace inbox_poller::poller::cli {

enum class ExitCode {
  done = 0,
  failed = 1,       // refused, or a fault
  usage = 2,        // the command line or the configuration is wrong: trying again does not help
  no_daemon = 3,    // nobody answers on the control socket: trying again may help
  not_found = 4,    // there is no such thing, or nothing to show
  not_in_time = 5,  // it goes on, and what was waited for has not come yet
};

/// By the error's code; `failed` for all that the table does not name.
ExitCode exit_code_of(const Error&);

}  // namespace inbox_poller::poller::cli
