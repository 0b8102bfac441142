// The bytes of one inbox file and the result of one scan. The result has the span, the key and the `read` value of
// each entry. No DOM is built; an entry that the ledger knows costs only the scan.
// Invariant: every edit leaves all bytes outside the changed values identical (peers' unknown fields, number format,
// order, line ends, a BOM). Source: docs/reference/wire.md W6 to W8.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/ids.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {

enum class ReadFlag {
  unread,   // the literal false
  read,     // the literal true
  absent,   // no such member; means unread
  other,   // another value; counts as absent
};

struct InboxEntry {
  schema::Span bytes;  // in the file
  /// Made of decoded values; for a bad entry, of its bytes without white space and `read`. Marking never changes a
  /// key.
  schema::MessageKey key;
  ReadFlag read = ReadFlag::absent;
  bool known = false;  // known to the reader from an earlier reading of the file
  bool in_place = false;     // read, in our in-place format; the next client that writes the file uses its own format
  schema::Span read_value;     // span of the `read` value in the file; empty unless present
};

/// The part of a file that a text is.
struct FilePart {
  std::size_t offset = 0;
  schema::ArrayFrom from = schema::ArrayFrom::beginning;
  bool goes_on = false;  // more follows: the text may end anywhere, and a possibly incomplete last entry is dropped
};

/// Occurrences of an identity outside of a document.
struct Occurrences {
  std::size_t before = 0;  // in the same file, before those in the document
  std::size_t known = 0;   // in the whole file, as its reader knew it
};

/// Replaces `false` in place, with the same length.
inline constexpr std::string_view read_in_place = "true ";

/// One change that keeps the file's length: writes `read_in_place` at `flag`, if the entry at `offset` still equals
/// `before`.
struct InPlaceEdit {
  std::size_t offset = 0;
  std::string_view before;  // valid as long as the document
  std::size_t flag = 0;     // offset in the file
  [[nodiscard]] std::size_t end() const { return offset + before.size(); }
};

/// Limit of a document; entries after it count as damage. Two bytes can be an entry, and each entry needs hundreds of
/// bytes of memory.
inline constexpr std::size_t most_entries = 200'000;

class InboxDocument {
 public:
  /// Scans the bytes and never fails: entries() has all that could be read, and problem() the reason why the scan
  /// stopped. Entries of wrong types (null, numbers, objects without `from`) have spans and keys too; the decoder
  /// reports their errors. A text of white space has neither entries nor a problem. The mailbox must find out whether
  /// such a text is an empty inbox or an unfinished write.
  static InboxDocument scan(std::string bytes, const schema::KeyScope& scope, FilePart part = {});

  /// Numbers equal entries, counting those before this document, and sets `known`. Calls `elsewhere` once for each
  /// identity, which is the key of its first occurrence.
  void number(const std::function<Occurrences(const schema::MessageKey&)>& elsewhere);
  /// Appends the entries of the next part of the file. Drops that part's bytes; call number() again afterwards.
  void append(InboxDocument next);
  /// Makes these bytes, from this offset of the file, the only ones in memory.
  void show(std::string bytes, std::size_t offset);

  /// Returns the bytes in memory: the whole text, unless show() replaced them. The functions below need entries that
  /// lie in these bytes.
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  /// Returns the offset in the file at which bytes() begins.
  [[nodiscard]] std::size_t offset() const { return part_.offset; }
  [[nodiscard]] bool is_part() const {
    return part_.offset > 0 || part_.from != schema::ArrayFrom::beginning || part_.goes_on;
  }
  [[nodiscard]] const std::vector<InboxEntry>& entries() const { return entries_; }
  [[nodiscard]] const std::optional<schema::ScanProblem>& problem() const { return problem_; }
  [[nodiscard]] std::string_view entry_bytes(const InboxEntry& entry) const {
    return bytes().substr(entry.bytes.begin - part_.offset, entry.bytes.size());
  }

  /// True for an unread literal, unless it crosses the end of a sector. A power loss could leave "trlse" there, and no
  /// client could read the file any more.
  [[nodiscard]] bool can_mark_in_place(std::size_t index) const;

  /// Returns the edit that turns the entry's `"read": false` into `"read": true ` in place. The edit contains the
  /// whole entry, so that a changed file is noticed. Empty if the entry cannot be marked in place.
  [[nodiscard]] std::optional<InPlaceEdit> mark_read_edit(std::size_t index) const;

  /// Repeats in this document a mark that was written to the file, by that edit or by with_marked_read().
  void set_read(std::size_t index);

  /// Returns the whole file with these entries' flags set to true; inserts an absent member. Meant for entries that
  /// cannot be edited in place. `file` has the entries at the document's offsets, whichever bytes are in memory. An
  /// unread literal becomes `true ` here too, so that all other bytes keep their offsets.
  [[nodiscard]] std::string with_marked_read(std::span<const std::size_t> indexes, std::string_view file) const;

  /// Returns the whole file with more entries (outputs of encode_entry()) at its end. The spacing is that of the last
  /// entry, or of JSON.stringify(…, null, 2) without one. An empty text counts as `[]`. For a part with an entry,
  /// returns that part. With a problem(), returns the same bytes.
  [[nodiscard]] std::string with_appended(std::span<const std::string_view> entries) const;
  [[nodiscard]] std::string with_appended(std::string_view entry) const { return with_appended(std::span(&entry, 1)); }

  /// Returns the whole file without these entries and their commas. With a problem(), and for a part, returns the same
  /// bytes.
  [[nodiscard]] std::string with_removed(std::span<const std::size_t> indexes) const;

 private:
  std::string bytes_;
  FilePart part_;  // of bytes_
  schema::Span array_;
  std::vector<InboxEntry> entries_;
  std::optional<schema::ScanProblem> problem_;
};

}  // namespace inbox_poller::poller
