// What the `inbox` commands do with one inbox, apart from options and printing: entries as a person sees them, which of
// them are meant, what may be sent, and writing with patience.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/survey.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/mailbox/arrays/inbox_document.hpp"

namespace inbox_poller::poller::cli {

/// One entry, decoded as far as it can be.
struct EntryView {
  std::string key;
  bool read = false;
  std::string from;
  std::string type;  // the payload's, "chat", or "bad" for an entry of wrong types
  std::string timestamp;
  std::string summary;
  std::string text;     // of a bad entry: its bytes
  std::string problem;  // of a bad entry: what is wrong with it
};
EntryView view_of(const InboxDocument&, const InboxEntry&);

/// Cut at a character to at most `limit` bytes, an ellipsis in place of the rest.
std::string shortened(std::string_view text, std::size_t limit);

/// The indexes of the entries whose keys begin so. Errors: "inbox.no_such_key", and "inbox.ambiguous_key" for a
/// beginning that several keys have and none is.
Result<std::vector<std::size_t>> entries_with_keys(const InboxDocument&, const std::vector<std::string>& keys);
/// The indexes of all entries that are marked read, or not.
std::vector<std::size_t> entries_that_are(bool read, const InboxDocument&);

/// Why this text must not be sent as a message: it is a control payload, and a client would act on it.
std::optional<Error> refuse_control_text(std::string_view text);

/// Tries again while the inbox is locked, or changes under the attempt, for at most five seconds and with a random
/// pause in between; the last outcome.
WriteResult patiently(const Clock&, const Wait&, const std::function<WriteResult()>& attempt);

/// Says what stopped a write, and what to do; nothing when it was done.
Status as_status(const WriteResult&, const std::string& inbox);
/// The same for a reading that gave no document. A missing inbox is "inbox.missing".
Status as_status(const ReadResult&, const std::string& inbox);

/// True when a team of this `status` answer has this file as its lead's inbox.
bool is_served(const boost::json::object& status, const std::string& inbox_path);

}  // namespace inbox_poller::poller::cli
