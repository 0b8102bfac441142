// The work of the `inbox` commands on one inbox, without options and printing: decoding, selecting and checking
// entries, and writing with retries.
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

/// An entry, decoded as far as possible.
struct EntryView {
  std::string key;
  bool read = false;
  std::string from;
  std::string type;  // type of the payload, "chat", or "malformed" for an unreadable entry
  std::string timestamp;
  std::string summary;
  std::string text;     // of a bad entry: its bytes
  std::string problem;  // of a bad entry: the error
};
EntryView view_of(const InboxDocument&, const InboxEntry&);

/// Cuts a text between characters to at most `limit` bytes; "…" replaces the rest.
std::string shortened(std::string_view text, std::size_t limit);

/// Finds the entries whose keys begin with these texts; an exact match wins. Errors: "inbox.no_such_key",
/// "inbox.ambiguous_key" (several keys match).
Result<std::vector<std::size_t>> entries_with_keys(const InboxDocument&, const std::vector<std::string>& keys);
/// Indexes of all entries that are marked read, or that are not.
std::vector<std::size_t> entries_that_are(bool read, const InboxDocument&);

/// Returns error "inbox.control_text" for a control payload, which a client would act on; empty for plain text.
std::optional<Error> refuse_control_text(std::string_view text);

/// Repeats a write while the inbox is locked or changes, at most five seconds, with random pauses; the last outcome.
WriteResult patiently(const Clock&, const Wait&, const std::function<WriteResult()>& attempt);

/// Converts the outcome of a write to an error that says what stopped it and what to do.
Status as_status(const WriteResult&, const std::string& inbox);
/// Converts the outcome of a read to an error in the same way; "inbox.missing" when there is no inbox.
Status as_status(const ReadResult&, const std::string& inbox);

/// True when a team in this `status` answer has this file as its lead's inbox.
bool is_served(const boost::json::object& status, const std::string& inbox_path);

}  // namespace inbox_poller::poller::cli
