// Any bytes as an inbox file: the scan never fails, and a splice leaves every byte that it does not mean to change as
// it was.
#include "poller/mailbox/arrays/inbox_document.hpp"

#include "poller/mailbox/arrays/array_entry.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_inbox_document {

using namespace inbox_poller::schema;
using namespace inbox_poller::poller;

namespace {

const KeyScope scope{"team", "team-lead"};

void check_mark_in_place(const InboxDocument& document, std::size_t index) {
  const std::string before(document.bytes());
  const auto edit = document.mark_read_edit(index);
  const Span place = document.entries()[index].read_value;
  const bool unread = document.entries()[index].read == ReadFlag::unread;
  EXPECT(edit.has_value() == (unread && place.begin / 512 == (place.end - 1) / 512));  // a disk writes it whole
  if (!edit) return;
  EXPECT(edit->flag == place.begin && place.size() == read_in_place.size());
  EXPECT(before.compare(edit->offset, edit->before.size(), edit->before) == 0);
  std::string after = before;
  after.replace(edit->flag, read_in_place.size(), read_in_place);
  EXPECT(before.compare(0, place.begin, after, 0, place.begin) == 0);
  EXPECT(before.compare(place.end, before.npos, after, place.end, after.npos) == 0);
  const InboxDocument again = InboxDocument::scan(after, scope);
  EXPECT(again.entries().size() == document.entries().size());
  EXPECT(again.entries()[index].read == ReadFlag::read);
  for (std::size_t i = 0; i < again.entries().size(); ++i) {
    EXPECT(again.entries()[i].key == document.entries()[i].key);
    EXPECT(i == index || again.entry_bytes(again.entries()[i]) == document.entry_bytes(document.entries()[i]));
  }
}

/// What lies between the entries, and each entry's members but for the flag.
std::vector<std::string> all_but_flags(const InboxDocument& document) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (const InboxEntry& entry : document.entries()) {
    parts.emplace_back(document.bytes().substr(begin, entry.bytes.begin - begin));
    begin = entry.bytes.end;
    const std::string_view object = document.entry_bytes(entry);
    const auto members = scan_object(object);
    if (!members) parts.emplace_back(object);
    if (!members) continue;
    // Duplicates of the flag count for nobody and stay: only the last one is the flag.
    std::size_t flag = members->size();
    for (std::size_t i = 0; i < members->size(); ++i)
      if (decode_string((*members)[i].key.of(object)) == "read") flag = i;
    for (std::size_t i = 0; i < members->size(); ++i) {
      if (i == flag) continue;
      parts.emplace_back((*members)[i].key.of(object));
      parts.emplace_back((*members)[i].value.of(object));
    }
  }
  parts.emplace_back(document.bytes().substr(begin));
  return parts;
}

void check_mark_all(const InboxDocument& document) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < document.entries().size(); ++i) all.push_back(i);
  const InboxDocument again = InboxDocument::scan(document.with_marked_read(all, document.bytes()), scope);
  EXPECT(again.entries().size() == document.entries().size());
  EXPECT(all_but_flags(again) == all_but_flags(document));
  EXPECT(again.with_marked_read(all, again.bytes()) == again.bytes());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT(again.entries()[i].key == document.entries()[i].key);
    EXPECT(again.entries()[i].read != ReadFlag::unread);
  }
}

void check_remove(const InboxDocument& document, std::size_t index) {
  const std::size_t indexes[] = {index};
  const InboxDocument again = InboxDocument::scan(document.with_removed(indexes), scope);
  EXPECT(!again.problem());
  EXPECT(again.entries().size() + 1 == document.entries().size());
  for (std::size_t i = 0; i < again.entries().size(); ++i) {
    EXPECT(again.entry_bytes(again.entries()[i]) == document.entry_bytes(document.entries()[i < index ? i : i + 1]));
  }
}

void check_append(const InboxDocument& document) {
  const std::string entry =
      encode_entry({"team-lead", "text \"with\" quotes", "", "2026-01-01T00:00:00.000Z", "", "id"});
  const std::string before(document.bytes());
  const std::string after = document.with_appended(entry);
  std::size_t same = 0;
  while (same < before.size() && same < after.size() && before[same] == after[same]) ++same;
  EXPECT(after.size() >= before.size());
  // Only the white space of an empty array is ours to replace.
  EXPECT(document.entries().empty() || same == before.size() || after.ends_with(std::string_view(before).substr(same)));
  const InboxDocument again = InboxDocument::scan(after, scope);
  EXPECT(!again.problem());
  EXPECT(again.entries().size() == document.entries().size() + 1);
  for (std::size_t i = 0; i < document.entries().size(); ++i)
    EXPECT(again.entry_bytes(again.entries()[i]) == document.entry_bytes(document.entries()[i]));
  const auto appended = decode_entry(again.entry_bytes(again.entries().back()));
  EXPECT(appended.ok() && appended->from == "team-lead" && appended->text == "text \"with\" quotes" &&
         again.entries().back().read == ReadFlag::unread);
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  const InboxDocument document = InboxDocument::scan(std::string(as_text(data, size)), scope);
  EXPECT(document.bytes() == as_text(data, size));
  std::size_t end = 0;
  for (std::size_t i = 0; i < document.entries().size(); ++i) {
    const InboxEntry& entry = document.entries()[i];
    EXPECT(entry.bytes.begin >= end && entry.bytes.end > entry.bytes.begin && entry.bytes.end <= size);
    end = entry.bytes.end;
    static_cast<void>(decode_entry(document.entry_bytes(entry)));
    if (i < 8) check_mark_in_place(document, i);
  }
  if (document.problem()) return 0;
  check_mark_all(document);
  if (!document.entries().empty()) check_remove(document, size % document.entries().size());
  check_append(document);
  return 0;
}

const Target registered("inbox_document", try_one);

}  // namespace inbox_poller::fuzz::of_inbox_document
