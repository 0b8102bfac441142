// Any text of an agent on a person's terminal: nothing that a terminal obeys or that nobody sees gets through, and
// nothing is lost on the way into a shell's word.
#include "schema/json_scan.hpp"
#include "schema/printable.hpp"
#include "schema/teammate_message.hpp"
#include "schema/utf8.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_terminal {

using namespace inbox_poller;
using namespace inbox_poller::schema;

namespace {

bool is_harmless(std::string_view text, std::string_view allowed) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const char32_t c = point.value;
    const bool named = c < 0x80 && allowed.find(static_cast<char>(c)) != std::string_view::npos;
    if (!point.valid || (c < 0x20 && !named) || (c >= 0x7F && c < 0xA0)) return false;
    if ((c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200B || c == 0xFEFF) return false;
    at += point.length;
  }
  return true;
}

void check_printable(std::string_view text) {
  EXPECT(is_harmless(printable(text), ""));
  const std::string block = printable_block(text, "  | ");
  EXPECT(is_harmless(block, "\n\t") && block.ends_with('\n'));
  for (std::size_t at = 0; at < block.size(); at = block.find('\n', at) + 1)
    EXPECT(std::string_view(block).substr(at).starts_with("  | "));
  EXPECT(is_harmless(visible(text), "\n\t") && is_harmless(neutralise(text), "\n\t"));
  const std::string json = quote(text);
  const std::string shown = printable_json(json);
  EXPECT(is_harmless(shown, "") && decode_string(shown) == decode_string(json));
}

/// What a POSIX shell makes of one word of plain characters, single quotes and \'.
std::string unquoted(std::string_view word) {
  std::string value;
  bool inside = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      inside = !inside;
    } else if (!inside && word[i] == '\\') {
      EXPECT(i + 1 < word.size());
      value += word[++i];
    } else {
      EXPECT(inside || std::string_view(" \t\n;|&$`\"<>()*?[]#~!{}").find(word[i]) == std::string_view::npos);
      value += word[i];
    }
  }
  EXPECT(!inside);
  return value;
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  check_printable(text);
  if (text.find('\0') == std::string_view::npos) EXPECT(unquoted(shell_word(text)) == text);
  return 0;
}

const Target registered("terminal", try_one);

}  // namespace inbox_poller::fuzz::of_terminal
