// One message, independent of the mailbox system's format: sender, text and time. A control payload, if any, is inside
// `text` (payload.hpp).
#pragma once

#include <string>

namespace inbox_poller::schema {

struct Message {
  std::string from, text;
  std::string summary;    // empty: none
  std::string timestamp;  // as written; may be empty or garbage, so the inbox's order counts instead
  std::string color;      // empty: none
  std::string id;         // the sender's own id for it; empty: none
  bool to_all = false;    // sent to every member, by the mailbox system's own broadcast

  bool operator==(const Message&) const = default;
};

}  // namespace inbox_poller::schema
