// `hook worker`: what a worker's client starts before each tool call.
#pragma once

#include "poller/cli/command.hpp"

namespace inbox_poller::poller::cli {

void add_hook_worker(CLI::App& hook, Context&);

}  // namespace inbox_poller::poller::cli
