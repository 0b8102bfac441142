// `recv --follow`: a receiver that stays. It stands at the ladder's way "socket" while it runs, and finds the daemon
// again after a restart. A message counts as taken only when it was written out (or, with `acks`, when its key came
// back); whatever ends us before, the daemon hands it out again.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "poller/cli/command.hpp"

namespace inbox_poller::poller::cli {

struct FollowOptions {
  int max = 20;  // messages at a time
  bool json = false;
  bool even_busy = false;
  bool acks = false;  // message keys are read from the standard input; nothing is acknowledged by itself
  std::string after;  // taken before we began: this message and what was handed out before it
};

ExitCode follow(Context&, const FollowOptions&);

/// The messages of an answer to `recv`. A terminal gets nothing that it would obey; a program gets the text as the lead
/// session is to see it, or a JSON object a line.
std::string received_text(const Context&, bool json, const boost::json::object& answer);

}  // namespace inbox_poller::poller::cli
