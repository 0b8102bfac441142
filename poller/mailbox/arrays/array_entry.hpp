// One entry of an array inbox, in the encoding of agent clients. Source: docs/reference/wire.md W6.
#pragma once

#include <string>
#include <string_view>

#include "poller/mailbox/mailbox.hpp"
#include "schema/error.hpp"
#include "schema/message.hpp"

namespace inbox_poller::poller {

/// Decodes one entry. Unknown keys are allowed; they stay in the file's bytes. `null` counts as absent, as does a
/// value of another type in a field other than `from` and `text`. Errors: "entry.field" (a missing `from` or `text`,
/// or another type there), "entry.not_object", "entry.syntax". The message names the field and the value found; only
/// that entry is bad.
Result<schema::Message> decode_entry(std::string_view entry);

/// Decodes one entry like decode_entry(), and reports whether the message has all content of the entry
/// (Decoded::says_all).
Result<Decoded> decode_whole_entry(std::string_view entry);

/// Encodes a message in the shape of JSON.stringify(…, null, 2) at depth one of an array, without the leading indent.
/// Omits empty `color` and `summary`; always writes `msgV:1`, `type:"message"` and `read:false`.
/// InboxDocument::with_appended() adapts the spacing to other entries.
std::string encode_entry(const schema::Message&);

}  // namespace inbox_poller::poller
