#include "config/text.hpp"

#include "schema/odd_characters.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/code_points.hpp"

namespace inbox_poller::text_test {

TEST_CASE("rules refuse each character of the one table, and no other") {
  test::for_each_code_point([](char32_t c) {
    const std::string text = "a" + test::utf8(c) + "z";
    const bool refused = config::find_odd_character(text, config::LineBreaks::refused).has_value();
    if (refused != (schema::is_odd(c) || c == 0xFFFD)) FAIL("U+" << std::hex << static_cast<unsigned>(c));
    const bool in_lines = config::find_odd_character(text, config::LineBreaks::accepted).has_value();
    if (in_lines != (refused && c != '\n' && c != '\t')) FAIL("in lines, U+" << std::hex << static_cast<unsigned>(c));
  });
}

}  // namespace inbox_poller::text_test
