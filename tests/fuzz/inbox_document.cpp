// Any bytes as an inbox file: the scan never fails, and a splice leaves every byte that it does not mean to change as
// it was.
#include "schema/inbox_document.hpp"

#include "schema/envelope.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace inbox_poller::schema;

namespace {

const KeyScope scope{"team", "team-lead"};

void check_mark_in_place(const InboxDocument& document, std::size_t index) {
  const std::string before(document.bytes());
  const auto edit = document.mark_read_edit(index);
  EXPECT(edit.has_value() == (document.entries()[index].read == ReadFlag::unread));
  if (!edit) return;
  EXPECT(edit->before.size() == edit->after.size());
  EXPECT(before.compare(edit->offset, edit->before.size(), edit->before) == 0);
  std::string after = before;
  after.replace(edit->offset, edit->after.size(), edit->after);
  const Span flag = document.entries()[index].read_value;
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT(before[i] == after[i] || (i >= flag.begin && i < flag.end));
  }
  const InboxDocument again = InboxDocument::scan(after, scope);
  EXPECT(again.entries().size() == document.entries().size());
  EXPECT(again.entries()[index].read == ReadFlag::read);
  for (std::size_t i = 0; i < again.entries().size(); ++i) {
    EXPECT(again.entries()[i].key == document.entries()[i].key);
    EXPECT(i == index || again.entry_bytes(again.entries()[i]) == document.entry_bytes(document.entries()[i]));
  }
}

void check_mark_all(const InboxDocument& document) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < document.entries().size(); ++i) all.push_back(i);
  const InboxDocument again = InboxDocument::scan(document.with_marked_read(all), scope);
  EXPECT(again.entries().size() == document.entries().size());
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
      encode_envelope({"team-lead", "text \"with\" quotes", "", "2026-01-01T00:00:00.000Z", "", "id"});
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
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const InboxDocument document = InboxDocument::scan(std::string(as_text(data, size)), scope);
  EXPECT(document.bytes() == as_text(data, size));
  std::size_t end = 0;
  for (std::size_t i = 0; i < document.entries().size(); ++i) {
    const InboxEntry& entry = document.entries()[i];
    EXPECT(entry.bytes.begin >= end && entry.bytes.end > entry.bytes.begin && entry.bytes.end <= size);
    end = entry.bytes.end;
    static_cast<void>(decode_envelope(document.entry_bytes(entry)));
    if (i < 8) check_mark_in_place(document, i);
  }
  if (document.problem()) return 0;
  check_mark_all(document);
  if (!document.entries().empty()) check_remove(document, size % document.entries().size());
  check_append(document);
  return 0;
}
