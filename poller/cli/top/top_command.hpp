// The console on its terminal, for `top` and `pending --watch`.
#pragma once

#include "poller/cli/command.hpp"
#include "poller/cli/top/top.hpp"

namespace inbox_poller::poller::cli {

/// Runs the console until the person leaves. Fails without a terminal or with --json, and names the other command.
ExitCode stay_at_terminal(Context&, Top::Options);

}  // namespace inbox_poller::poller::cli
