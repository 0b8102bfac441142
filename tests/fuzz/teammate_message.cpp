// Any message as the lead session sees it: exactly one block, nothing in it that opens, closes or drives something
// else, and a second reader finds the text again.
#include "schema/teammate_message.hpp"

#include <algorithm>

#include "schema/fold.hpp"
#include "schema/utf8.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_teammate_message {

using inbox_poller::schema::visible;

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }
bool is_name(char c) {
  return c == '_' || c == '-' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/// How often a tag of this name opens or closes, in any case and however it is spaced.
int count(std::string_view text, std::string_view name, bool closing) {
  int found = 0;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    std::size_t i = at + 1;
    bool slash = false;
    for (; i < text.size() && (is_space(text[i]) || text[i] == '/'); ++i) slash |= text[i] == '/';
    const std::string_view rest = text.substr(i);
    if (rest.size() < name.size() || slash != closing) continue;
    const bool same = std::equal(name.begin(), name.end(), rest.begin(), [](char a, char b) {
      return a == ((b >= 'A' && b <= 'Z') ? static_cast<char>(b | 0x20) : b);
    });
    found += same && (rest.size() == name.size() || !is_name(rest[name.size()])) ? 1 : 0;
  }
  return found;
}

/// The second reader: it takes back what neutralising added, a "> " before a line and "&lt;" for '<', and nothing else.
bool is_neutralised(std::string_view shown, std::string_view text) {
  bool at_line_start = true;
  for (; !shown.empty(); at_line_start = text.front() == '\n', text.remove_prefix(1)) {
    if (at_line_start && shown.starts_with("> ") && !text.starts_with("> ")) shown.remove_prefix(2);
    if (text.empty() || shown.empty()) return false;
    const auto bracket = inbox_poller::schema::code_point_at(text, 0);
    const bool escaped = inbox_poller::schema::look(bracket.value) == '<' && shown.starts_with("&lt;");
    if (!escaped && shown.front() != text.front()) return false;
    shown.remove_prefix(escaped ? 4 : 1);
    if (escaped) text.remove_prefix(bracket.length - 1);
  }
  return text.empty();
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  const auto field = fields(as_text(data, size), 4);
  const std::string block = inbox_poller::schema::render({field[0], field[1], field[2], field[3]});
  EXPECT(block.starts_with("<teammate-message teammate_id=\""));
  EXPECT(block.ends_with("\n</teammate-message>"));
  EXPECT(count(block, "teammate-message", false) == 1 && count(block, "teammate-message", true) == 1);
  for (const std::string_view other : {"system-reminder", "channel", "human", "task-notification"})
    EXPECT(count(block, other, false) == 0 && count(block, other, true) == 0);
  const std::string head = block.substr(0, block.find('\n'));
  EXPECT(head.ends_with(">"));
  EXPECT(std::count(head.begin(), head.end(), '"') % 2 == 0 && std::count(head.begin(), head.end(), '>') == 1);
  for (const char c : block) {
    const auto byte = static_cast<unsigned char>(c);
    EXPECT((byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\t');
  }
  const std::string_view body(block.data() + head.size() + 1, block.size() - head.size() - 1 - 20);
  EXPECT(is_neutralised(body, visible(field[3])));
  return 0;
}

const Target registered("teammate_message", try_one);

}  // namespace inbox_poller::fuzz::of_teammate_message
