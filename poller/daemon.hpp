// The daemon, as the command line starts it: configuration in, exit code out.
#pragma once

#include <optional>
#include <string>

#include "config/load.hpp"

namespace inbox_poller::poller {

struct RunOptions {
  config::Sources sources;
  std::string socket;                           // overrides the configured control socket
  std::optional<unsigned> polls;                // stop after this many polls of each team (for tests); --once: 1
  bool new_ledger = false;                      // set a damaged ledger aside and start an empty one
  std::optional<config::LogLevel> log_level;    // overrides the configured one
  std::optional<config::LogFormat> log_format;  // overrides the configured one
};

/// Runs until SIGTERM/SIGINT, the poll limit, or a fault. SIGHUP reads the configuration again from the same sources;
/// if it has an error, nothing changes. Returns 0: drained; 1: a fault, in the last log line; 2: configuration; 6: the
/// ledger is gone.
int run_daemon(const RunOptions&);

}  // namespace inbox_poller::poller
