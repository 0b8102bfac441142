// One entry of an inbox file: who says what, when, and whether it was read. The control payload, if any, is inside
// `text` (payload.hpp). Source: docs/wire.md W6.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/error.hpp"

namespace inbox_poller::schema {

struct Envelope {
  std::string from, text;
  std::string timestamp;  // as written; may be empty or garbage: order is the order of the file, never this
  std::optional<std::string> summary;
  std::optional<std::string> color;
  std::optional<std::string> msg_id;
  std::optional<std::string> type;
  bool read = false;  // absent means unread
};

/// Reads one entry. Unknown keys are allowed (they stay in the file's bytes); a `null` counts as absent, except for
/// `read`. Wrong types, a missing `from` or `text` or a null entry are errors ("entry.…") whose message names the field
/// and what was found: the entry is bad, its neighbours are not.
Result<Envelope> decode_envelope(std::string_view entry);

/// What we write. `color` and `summary` are omitted when empty; `msgV:1`, `type:"message"`, `read:false` are always
/// written.
struct OutgoingEnvelope {
  std::string from, text, summary, timestamp, color, msg_id;
};

/// The entry's bytes in the shape of JSON.stringify(…, null, 2) at depth one of an array, without the leading indent.
/// Spacing to match other neighbours is InboxDocument::with_appended's work.
std::string encode_envelope(const OutgoingEnvelope&);

}  // namespace inbox_poller::schema
