// The bytes of one inbox file and what one scan of them tells: where each entry lies, its key, and the place of its
// `read` value. No DOM; an entry the ledger already knows costs nothing more than the scan. Invariant: every splice
// leaves all bytes outside the changed values identical (peers' unknown fields, number spelling, order, line ends, a
// BOM). Source: docs/reference/wire.md W6 to W8.
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
  absent,   // no such member: means unread
  other,   // another value: counts as absent
};

struct InboxEntry {
  schema::Span bytes;  // in the file
  /// Of decoded values; of a bad entry, of its bytes without white space and `read`: marking changes no key.
  schema::MessageKey key;
  ReadFlag read = ReadFlag::absent;
  bool known = false;  // the reader knew it from an earlier reading of the file
  bool in_place = false;     // read, and spelt as we mark in place: whoever writes the file next spells it in his own way
  schema::Span read_value;     // where in the file the `read` value lies; empty unless present
};

/// Which part of a file a text is.
struct FilePart {
  std::size_t offset = 0;
  schema::ArrayFrom from = schema::ArrayFrom::beginning;
  bool goes_on = false;  // there is more behind it: it may break off anywhere, and what may be half an entry is none
};

/// How often an identity occurs outside of a document.
struct Occurrences {
  std::size_t before = 0;  // in the same file, before what the document has of it
  std::size_t known = 0;   // in the whole file, as its reader knew it
};

/// What a flag becomes where it stands: as long as `false`.
inline constexpr std::string_view read_in_place = "true ";

/// One change that keeps the file's length: write `read_in_place` at `flag`, if the entry at `offset` is still `before`.
struct InPlaceEdit {
  std::size_t offset = 0;
  std::string_view before;  // valid as long as the document
  std::size_t flag = 0;     // where in the file
  [[nodiscard]] std::size_t end() const { return offset + before.size(); }
};

/// Of a document; what comes behind them counts as damage. Two bytes can be an entry, and each costs hundreds of memory.
inline constexpr std::size_t most_entries = 200'000;

class InboxDocument {
 public:
  /// Never fails: what could be read is in entries(), what stopped the scan in problem(). Entries of wrong types (null,
  /// numbers, objects without `from`) have spans and keys too; decoding says what is wrong with them. A text of nothing
  /// but white space has neither entries nor a problem; whether it is an empty inbox or a write half done is for the
  /// mailbox to find out.
  static InboxDocument scan(std::string bytes, const schema::KeyScope& scope, FilePart part = {});

  /// Tells equals apart where some of them lie before this document, and which entries are known. `elsewhere` is asked
  /// once for each identity, which is the key of its first occurrence.
  void number(const std::function<Occurrences(const schema::MessageKey&)>& elsewhere);
  /// The entries of the part of the file that follows. Its bytes are not kept, and equals are to be numbered again.
  void append(InboxDocument next);
  /// From here on these bytes are at hand, and no others.
  void show(std::string bytes, std::size_t offset);

  /// What is at hand: the whole text, unless show() said otherwise. What follows is about entries that lie in it.
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  /// Where in the file they begin.
  [[nodiscard]] std::size_t offset() const { return part_.offset; }
  [[nodiscard]] bool is_part() const {
    return part_.offset > 0 || part_.from != schema::ArrayFrom::beginning || part_.goes_on;
  }
  [[nodiscard]] const std::vector<InboxEntry>& entries() const { return entries_; }
  [[nodiscard]] const std::optional<schema::ScanProblem>& problem() const { return problem_; }
  [[nodiscard]] std::string_view entry_bytes(const InboxEntry& entry) const {
    return bytes().substr(entry.bytes.begin - part_.offset, entry.bytes.size());
  }

  /// True for an unread literal, unless it lies across the end of a sector: a power loss could leave "trlse" there, and
  /// nobody could read the file any more.
  [[nodiscard]] bool can_mark_in_place(std::size_t index) const;

  /// The edit that turns the entry's `"read": false` into `"read": true ` in place; it names the whole entry, so that a
  /// file that changed meanwhile is noticed. Empty when it cannot be marked in place.
  [[nodiscard]] std::optional<InPlaceEdit> mark_read_edit(std::size_t index) const;

  /// Follows that edit, or with_marked_read(), once it was carried out in the file.
  void set_read(std::size_t index);

  /// The whole file with these entries' flags set to true; inserts the member where it is absent. For entries that
  /// cannot be edited in place. `file` has them where the document has them, whatever is at hand of it. An unread
  /// literal becomes `true ` here too, so that all other bytes stay where they are.
  [[nodiscard]] std::string with_marked_read(std::span<const std::size_t> indexes, std::string_view file) const;

  /// The whole file with more entries (outputs of encode_entry) at its end, spaced like the last one there, or as
  /// JSON.stringify(…, null, 2) does where there is none. An empty text counts as `[]`. Of a part that has an
  /// entry: that part. With a problem(): the same bytes.
  [[nodiscard]] std::string with_appended(std::span<const std::string_view> entries) const;
  [[nodiscard]] std::string with_appended(std::string_view entry) const { return with_appended(std::span(&entry, 1)); }

  /// The whole file without these entries (and without the commas that belonged to them). With a problem(), and of a
  /// part: the same bytes.
  [[nodiscard]] std::string with_removed(std::span<const std::size_t> indexes) const;

 private:
  std::string bytes_;
  FilePart part_;  // of bytes_
  schema::Span array_;
  std::vector<InboxEntry> entries_;
  std::optional<schema::ScanProblem> problem_;
};

}  // namespace inbox_poller::poller
