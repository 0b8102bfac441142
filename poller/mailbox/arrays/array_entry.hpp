// One entry of an array inbox: how agent clients spell a message there. Source: docs/reference/wire.md W6.
#pragma once

#include <string>
#include <string_view>

#include "poller/mailbox/mailbox.hpp"
#include "schema/error.hpp"
#include "schema/message.hpp"

namespace inbox_poller::poller {

/// Reads one entry. Unknown keys are allowed (they stay in the file's bytes); `null` counts as absent, as does a value of
/// another type in a field other than `from` and `text`. A missing `from` or `text`, another type there, or an entry that
/// is no object is an error ("entry.…") whose message names the field and what was found: that entry alone is bad.
Result<schema::Message> decode_entry(std::string_view entry);

/// Reads one entry likewise, and says whether the message has all that the entry says (Decoded::says_all).
Result<Decoded> decode_whole_entry(std::string_view entry);

/// What we write: the entry's bytes in the shape of JSON.stringify(…, null, 2) at depth one of an array, without the
/// leading indent. `color` and `summary` are omitted when empty; `msgV:1`, `type:"message"`, `read:false` are always
/// written. Spacing to match other neighbours is InboxDocument::with_appended's work.
std::string encode_entry(const schema::Message&);

}  // namespace inbox_poller::poller
