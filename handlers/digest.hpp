// A summary of many status messages in a few lines, so that the lead is not woken for each.
#pragma once

#include <string>
#include <vector>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

struct DigestItem {
  std::string sender;
  EpochMs at_ms = 0;
  schema::Payload payload;
};

/// Returns one line for each sender, in the order of first messages: idle and task counts, and the last summary. At
/// most 100 senders and 500 bytes a line. The senders left out are counted.
std::string digest_text(const std::vector<DigestItem>&);

}  // namespace inbox_poller::handlers
