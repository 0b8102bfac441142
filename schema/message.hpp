// One message as anybody means it: who says what, and when. How a mailbox system spells it is that system's own matter.
// The control payload, if any, is inside `text` (payload.hpp).
#pragma once

#include <string>

namespace inbox_poller::schema {

struct Message {
  std::string from, text;
  std::string summary;    // empty: none
  std::string timestamp;  // as written; may be empty or garbage: order is the order of the inbox, never this
  std::string color;      // empty: none
  std::string id;         // the sender's own name for it; empty: none
  bool to_all = false;    // sent to every member: where a system spells a broadcast in its own way

  bool operator==(const Message&) const = default;
};

}  // namespace inbox_poller::schema
