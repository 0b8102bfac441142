// The whole program as one function. This header does not pull in the commands' dependencies.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "poller/cli/console.hpp"
#include "poller/daemon.hpp"

namespace inbox_poller::poller::cli {

using RunDaemon = std::function<int(const RunOptions&)>;

/// Parses the command line, runs one command, and returns the exit code. `arguments`: without the program's name.
int run_command_line(std::vector<std::string> arguments, Console&, RunDaemon);

/// Returns the text of `--version`: version, commit, and library versions.
std::string version_text();

}  // namespace inbox_poller::poller::cli
