// The daemon as the command line starts it: configuration in, exit code out.
#pragma once

#include <optional>
#include <string>

#include "config/load.hpp"

namespace inbox_poller::poller {

struct RunOptions {
  config::Sources sources;
  std::string socket;                           // overrides the configured control socket
  std::optional<unsigned> polls;                // stop after so many polls of each team (for tests); --once is 1
  bool new_ledger = false;                      // set a damaged ledger aside and start a new one
  std::optional<config::LogLevel> log_level;    // overrides the configured one
  std::optional<config::LogFormat> log_format;  // likewise
};

/// Runs until SIGTERM/SIGINT, the poll limit, or a fault. SIGHUP reads the configuration again, from the same sources;
/// one with a mistake changes nothing. 0: drained; 1: a fault, named in the last log line; 2: configuration.
int run_daemon(const RunOptions&);

}  // namespace inbox_poller::poller
