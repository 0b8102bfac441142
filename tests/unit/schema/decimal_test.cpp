#include "schema/decimal.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "tests/support/catch.hpp"

namespace inbox_poller::decimal_test {

using inbox_poller::schema::read_decimal;

TEST_CASE("read_decimal reads what a JSON number may be") {
  CHECK(read_decimal("0") == 0.0);
  CHECK(read_decimal("-2.5e1") == -25.0);
  CHECK(read_decimal("1E+3") == 1000.0);
  CHECK(read_decimal("1770477646.348125") == 1770477646.348125);
  CHECK(read_decimal("9007199254740993") == 9007199254740992.0);  // a tie goes to the even neighbor
  CHECK(read_decimal("0.1000000000000000055511151231257827021181583404541015625") == 0.1);
  CHECK(read_decimal("1" + std::string(308, '0')) == 1e308);
  CHECK(read_decimal("5e-324") == std::numeric_limits<double>::denorm_min());
  CHECK(read_decimal("0e999") == 0.0);
  CHECK(read_decimal("0.000") == 0.0);
  CHECK(std::signbit(read_decimal("-0.0").value_or(1)));
}

TEST_CASE("read_decimal returns nothing when the text is no decimal number") {
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1,5", "\"1\"", "0x10", "1e", "1e+", "--1", "1.2.3", "inf", "-Infinity", "NaN", "nan", "null", "e5"})
    CHECK_FALSE(read_decimal(text));
  CHECK_FALSE(read_decimal(std::string("1\0", 2)));
}

TEST_CASE("read_decimal returns nothing when a double cannot hold the number") {
  for (const char* text : {"1e309", "-1e999", "1e-400", "-0.001e-99999", "1e99999999999999999999"}) CHECK_FALSE(read_decimal(text));
}

TEST_CASE("read_decimal gives back every double from its shortest spelling") {
  std::mt19937_64 random(20260207);
  for (int i = 0; i < 20'000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    std::array<char, 40> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    const auto read = read_decimal(std::string(text.data(), end));
    REQUIRE(read);
    REQUIRE(std::bit_cast<std::uint64_t>(*read) == std::bit_cast<std::uint64_t>(number));
  }
}

}  // namespace inbox_poller::decimal_test
