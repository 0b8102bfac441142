// The console on its terminal, for the commands that open it: `top`, and `pending --watch`.
#pragma once

#include "poller/cli/command.hpp"
#include "poller/cli/top/top.hpp"

namespace inbox_poller::poller::cli {

/// Until its person leaves, who is `by`. Without a terminal, or with --json: refused, and said what a program uses.
ExitCode stay_at_terminal(Context&, Top::Options);

}  // namespace inbox_poller::poller::cli
