// Any text of an agent on a person's terminal: nothing that a terminal obeys or that nobody sees gets through, nothing
// is lost on the way into a shell's word, and a shown difference is the whole difference.
#include "poller/cli/text_diff.hpp"
#include "schema/json_scan.hpp"
#include "schema/printable.hpp"
#include "schema/teammate_message.hpp"
#include "schema/utf8.hpp"
#include "tests/fuzz/fuzz.hpp"

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

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end == std::string_view::npos ? end : end + 1);
  text.remove_prefix(line.size());
  return line;
}

/// `before` with the difference applied, as `patch` would.
std::string patched(std::string_view before, std::string_view diff) {
  constexpr std::string_view no_newline = "\\ No newline at end of file\n";
  std::string after;
  std::size_t line = 0;
  take_line(diff);
  take_line(diff);
  while (!diff.empty()) {
    std::string_view one = take_line(diff);
    if (one.starts_with("@@ -")) {
      const std::size_t first = std::strtoul(std::string(one.substr(4)).c_str(), nullptr, 10);
      const bool none = one.substr(0, one.find(" +")).ends_with(",0");
      for (; line + (none ? 0 : 1) < first; ++line) after += take_line(before);
      continue;
    }
    const char mark = one.front();
    one.remove_prefix(1);
    if (diff.starts_with(no_newline)) {
      one.remove_suffix(1);
      take_line(diff);
    }
    if (mark != '+') {
      EXPECT(take_line(before) == one);
      ++line;
    }
    if (mark != '-') after += one;
  }
  return after.append(before);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  check_printable(text);
  if (text.find('\0') == std::string_view::npos) EXPECT(unquoted(shell_word(text)) == text);
  const auto both = fields(text, 2);
  const std::string diff = poller::cli::unified_diff(both[0], both[1], "x");
  EXPECT(diff.empty() == (both[0] == both[1]));
  if (!diff.empty()) EXPECT(patched(both[0], diff) == both[1]);
  return 0;
}
