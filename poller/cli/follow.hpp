// `recv --follow`: a receiver that stays. It holds the delivery method "socket" and reconnects after a restart of the
// daemon. A message is acknowledged only after it was written, or with `acks` after its key was read. The daemon
// delivers all others again.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "poller/cli/command.hpp"

namespace inbox_poller::poller::cli {

struct FollowOptions {
  int max = 20;  // messages at a time
  bool json = false;
  bool ignore_busy = false;
  bool acks = false;  // message keys are read from standard input; nothing else acknowledges
  std::string after;  // acknowledged before the start: this message and those delivered before it
};

ExitCode follow(Context&, const FollowOptions&);

/// Formats the messages of an answer to `recv`. On a terminal the text is printable. A program gets the lead's text
/// unchanged, or one JSON object a line.
std::string received_text(const Context&, bool json, const boost::json::object& answer);

}  // namespace inbox_poller::poller::cli
