// The whole program as one function, without what its commands need to be compiled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "poller/cli/console.hpp"
#include "poller/daemon.hpp"

namespace inbox_poller::poller::cli {

using RunDaemon = std::function<int(const RunOptions&)>;

/// Parses, runs one command, returns the exit code. `arguments` without the program's name.
int run_command_line(std::vector<std::string> arguments, Console&, RunDaemon);

/// What `--version` tells: version, commit, and the libraries that it was built with.
std::string version_text();

}  // namespace inbox_poller::poller::cli
