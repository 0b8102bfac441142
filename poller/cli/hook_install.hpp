// `hook install` and `hook uninstall`: our hooks in the settings of the lead's client.
#pragma once

#include "poller/cli/command.hpp"

namespace inbox_poller::poller::cli {

void add_hook_install(CLI::App& hook, Context&);

}  // namespace inbox_poller::poller::cli
