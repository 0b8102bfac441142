// The bytes of one inbox file and what one scan of them tells: where each entry lies, its key, and the place of its
// `read` value. No DOM; an entry the ledger already knows costs nothing more than the scan. Invariant: every splice
// leaves all bytes outside the changed values identical (peers' unknown fields, number spelling, order, line ends, a
// BOM). Source: protocol.md sections 2 and 6.4; reliability.md T-PRESERVE.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/ids.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::schema {

enum class ReadFlag {
  unread,   // the literal false
  read,     // the literal true
  absent,   // no such member: means unread
  invalid,  // something else: the entry will turn out bad
};

struct InboxEntry {
  Span bytes;
  MessageKey
      key;  // of decoded values; of a bad entry, of its bytes without white space and `read`: marking changes no key
  ReadFlag read = ReadFlag::absent;
  Span read_value;  // where the `read` value lies; empty unless present
};

/// One change that keeps the file's length: write `after` over `before` at `offset`, if `before` is still what is
/// there.
struct InPlaceEdit {
  std::size_t offset = 0;
  std::string before;
  std::string after;
};

class InboxDocument {
 public:
  /// Never fails: what could be read is in entries(), what stopped the scan in problem(). Entries of wrong types (null,
  /// numbers, objects without `from`) have spans and keys too; decoding says what is wrong with them. A text of nothing
  /// but white space has neither entries nor a problem; whether it is an empty inbox or a write half done is for the
  /// mailbox to find out.
  static InboxDocument scan(std::string bytes, const KeyScope& scope);

  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<InboxEntry>& entries() const { return entries_; }
  [[nodiscard]] const std::optional<ScanProblem>& problem() const { return problem_; }
  [[nodiscard]] std::string_view entry_bytes(const InboxEntry& entry) const { return entry.bytes.of(bytes_); }

  /// True for an unread literal, unless it lies across the end of a sector: a power loss could leave "trlse" there, and
  /// nobody could read the file any more.
  [[nodiscard]] bool can_mark_in_place(std::size_t index) const;

  /// The edit that turns the entry's `"read": false` into `"read": true ` in place; its `before` is the whole entry, so
  /// that a file that changed meanwhile is noticed. Empty when it cannot be marked in place.
  [[nodiscard]] std::optional<InPlaceEdit> mark_read_edit(std::size_t index) const;

  /// The whole file with these entries' flags set to true; inserts the member where it is absent. For entries that
  /// cannot be edited in place.
  [[nodiscard]] std::string with_marked_read(std::span<const std::size_t> indexes) const;

  /// The whole file with one more entry (the output of encode_envelope) at its end, spaced like its last neighbour, or
  /// as JSON.stringify(…, null, 2) does where there is none. An empty text counts as `[]`. With a problem(): the same
  /// bytes.
  [[nodiscard]] std::string with_appended(std::string_view entry) const;

  /// The whole file without these entries (and without the commas that belonged to them). With a problem(): the same
  /// bytes.
  [[nodiscard]] std::string with_removed(std::span<const std::size_t> indexes) const;

 private:
  std::string bytes_;
  Span array_;
  std::vector<InboxEntry> entries_;
  std::optional<ScanProblem> problem_;
};

}  // namespace inbox_poller::schema
