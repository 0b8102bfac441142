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
  std::size_t unsent_bytes = 0;  // of a text that the sender wrote and did not send; the payload then says nothing
  std::string key = {};          // of that text
};

/// Returns one line for each sender, in the order of first messages: idle and task counts, the last summary, and the
/// size of texts that it did not send. At most 100 senders and 500 bytes a line. The senders left out are counted.
std::string digest_text(const std::vector<DigestItem>&);

}  // namespace inbox_poller::handlers
