// Any message as the lead session sees it: exactly one block, and nothing in it that opens, closes or drives something
// else.
#include "schema/teammate_message.hpp"

#include <algorithm>
#include <regex>

#include "tests/fuzz/fuzz.hpp"

namespace {

std::ptrdiff_t count(const std::string& text, const std::regex& pattern) {
  return std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;  // std::regex recurses by length
  const auto field = fields(as_text(data, size), 4);
  const std::string block = inbox_poller::schema::render({field[0], field[1], field[2], field[3]});
  static const std::regex opening("<\\s*teammate-message[^a-z0-9_-]", std::regex::icase);
  static const std::regex closing("<\\s*\\\\?/\\s*teammate-message[\\s>]", std::regex::icase);
  static const std::regex note("<\\s*/?\\s*system-reminder[^a-z0-9_-]", std::regex::icase);
  EXPECT(block.starts_with("<teammate-message teammate_id=\""));
  EXPECT(block.ends_with("\n</teammate-message>"));
  EXPECT(count(block, opening) == 1);
  EXPECT(count(block, closing) == 1);
  EXPECT(count(block, note) == 0);
  const std::string head = block.substr(0, block.find('\n'));
  EXPECT(head.ends_with(">"));
  EXPECT(std::count(head.begin(), head.end(), '"') % 2 == 0 && std::count(head.begin(), head.end(), '>') == 1);
  for (const char c : block) {
    const auto byte = static_cast<unsigned char>(c);
    EXPECT((byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\t');
  }
  return 0;
}
