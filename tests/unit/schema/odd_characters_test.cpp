// One table, over all code points: what each of its users in this room makes of it. config/text's own test does the
// same.
#include "schema/odd_characters.hpp"

#include <boost/json.hpp>
#include <string>

#include "schema/printable.hpp"
#include "schema/teammate_message.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/code_points.hpp"

namespace inbox_poller::odd_characters_test {

using namespace inbox_poller::schema;
using inbox_poller::test::for_each_code_point;
using inbox_poller::test::for_each_telling_code_point;
using inbox_poller::test::utf8;

namespace {

struct Span32 {
  char32_t first, last;
};

/// What Unicode 16.0 says nobody need see (DerivedCoreProperties.txt), retyped: an oracle beside the table.
constexpr Span32 default_ignorable[] = {
    {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},     {0x115F, 0x1160},   {0x17B4, 0x17B5},  {0x180B, 0x180F},
    {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},  {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
constexpr Span32 white_space[] = {{0x09, 0x0D},     {0x85, 0x85},     {0xA0, 0xA0},
                                  {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                                  {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};

template <std::size_t size>
bool is_in(const Span32 (&list)[size], char32_t c) {
  for (const Span32 span : list)
    if (span.first <= c && c <= span.last) return true;
  return false;
}

}  // namespace

TEST_CASE("the table has whatever Unicode calls ignorable, white space or a control character") {
  for_each_code_point([](char32_t c) {
    const bool named = c < 0x20 || (c >= 0x7F && c <= 0x9F) || is_in(default_ignorable, c) || is_in(white_space, c);
    if (named && !is_odd(c)) FAIL("U+" << std::hex << static_cast<unsigned>(c) << " is missing");
  });
  for (const char32_t c : U"aZ ~éß世界😀\u0301\u0600\uFFFD" + std::u32string())
    if (c != 0) CHECK_FALSE(is_odd(c));
}

TEST_CASE("a screen and a JSON line show an escape for each character of the table, and nothing but for these") {
  for_each_telling_code_point(is_odd, [](char32_t c) {
    const std::string text = utf8(c);
    if ((printable(text) != text) != is_odd(c)) FAIL("printable, U+" << std::hex << static_cast<unsigned>(c));
    if ((printable_block("a" + text + "z", "") != "a" + text + "z\n") != (is_odd(c) && c != '\n' && c != '\t'))
      FAIL("printable_block, U+" << std::hex << static_cast<unsigned>(c));
    const std::string json = "\"" + text + "\"";
    const bool raw = c < 0x20;  // never stands raw in a JSON text
    if (!raw && (printable_json(json) != json) != is_odd(c))
      FAIL("printable_json, U+" << std::hex << static_cast<unsigned>(c));
    if (is_odd(c) && !raw && c != '\x7F' && boost::json::parse(printable_json(json)) != boost::json::value(text))
      FAIL("another value, U+" << std::hex << static_cast<unsigned>(c));
  });
}

TEST_CASE("a block leaves out, respells or keeps each character of the table as its class says, and all others") {
  for_each_telling_code_point(is_odd, [](char32_t c) {
    const std::string text = "a" + utf8(c) + "z";
    const std::string shown = visible(text);
    std::string expected = text;
    switch (oddity_of(c)) {
      case Oddity::none:
      case Oddity::blank:
      case Oddity::joiner: break;
      case Oddity::line_separator: expected = "a\nz"; break;
      case Oddity::control:
        if (c != '\n' && c != '\t') expected = "az";
        break;
      case Oddity::invisible: expected = "az"; break;
    }
    if (shown != expected) FAIL("U+" << std::hex << static_cast<unsigned>(c));
    const std::string tag = neutralise("<" + utf8(c) + "/teammate-message>");  // hidden in a tag it hides no tag
    const bool hides = c != '/' && oddity_of(c) == Oddity::none && c != ' ' && c != '<';
    if (!hides && tag.find("</") != std::string::npos) FAIL("a tag, U+" << std::hex << static_cast<unsigned>(c));
    if (oddity_of(c) == Oddity::joiner && visible("a" + utf8(c) + utf8(c) + utf8(c)) != "a" + utf8(c) + utf8(c))
      FAIL("a row, U+" << std::hex << static_cast<unsigned>(c));
  });
}

}  // namespace inbox_poller::odd_characters_test
