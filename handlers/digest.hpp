// Many status messages in a few lines: what each worker did since the last digest, for a lead that wants to know but not
// to be woken for each.
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

/// One line for each sender in the order of its first message: how often it was idle, which tasks it took and finished,
/// its last summary. At most 100 senders and 500 characters a line; what is left out is counted.
std::string digest_text(const std::vector<DigestItem>&);

}  // namespace inbox_poller::handlers
