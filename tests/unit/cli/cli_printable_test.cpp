// What an agent's text may do on a person's terminal: nothing.
#include "poller/cli/printable.hpp"

#include <boost/json.hpp>

#include "poller/cli/console.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::cli_printable_test {

using namespace inbox_poller::poller::cli;

TEST_CASE("ordinary text of any language is printed as it is") {
  for (const std::string text : {"", "git status", "Grüße, 世界", "😀"}) CHECK(printable(text) == text);
}

TEST_CASE("what a terminal would obey is shown instead") {
  CHECK(printable("\x1b[2J\x1b]0;title\x07") == "\\x1b[2J\\x1b]0;title\\x07");
  CHECK(printable("one\ntwo\rthree\tfour") == "one\\ntwo\\rthree\\tfour");
  CHECK(printable("\x7f") == "\\x7f" + std::string());
  CHECK(printable("\xc2\x9b"
                  "31m") == "<U+009B>31m");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("what a reader would not see or see in another order is shown") {
  CHECK(printable("a\u202eb\u2066c\u2069") == "a<U+202E>b<U+2066>c<U+2069>");
  CHECK(printable("pay\u200bpal\ufeff") == "pay<U+200B>pal<U+FEFF>");
  CHECK(printable("\U000E0041") == "<U+E0041>");
}

TEST_CASE("bytes that are not UTF-8 are shown one by one") {
  CHECK(printable("\xff\x9b") == "\\xff\\x9b");
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");
}

TEST_CASE("a block keeps its lines, each behind the margin") {
  CHECK(printable_block("one\n\ttwo\n", "| ") == "| one\n| \ttwo\n");
  CHECK(printable_block("one\r\ntwo", "| ") == "| one\\r\n| two\n");
  CHECK(printable_block("", "| ") == "| \n");
}

TEST_CASE("escaped JSON is the same value") {
  const boost::json::value value = {{"a", "x\u202e\xc2\x9b\U000E0041y"}, {"b", "\x1b\n"}};
  const std::string text = printable_json(boost::json::serialize(value));
  CHECK(text.find("\\u202e\\u009b\\udb40\\udc41") != std::string::npos);
  CHECK(boost::json::parse(text) == value);
}

TEST_CASE("a word for the shell is one word") {
  CHECK(shell_word("perm-17@demo") == "perm-17@demo");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a b; rm -rf ~ $(x)") == "'a b; rm -rf ~ $(x)'");
  CHECK(shell_word("it's") == "'it'\\''s'");
}

TEST_CASE("a time in a narrow column leaves out what is the same as now") {
  constexpr long long day = 86'400'000;
  const long long then = 1'770'465'600'000;  // 2026-02-07, noon in Greenwich; far from the turn of a year in every zone
  const std::string whole = time_text(then);
  CHECK(brief_time_text(then, then) == whole.substr(11));
  CHECK(brief_time_text(then, then + 2 * day) == whole.substr(5, 11));
  CHECK(brief_time_text(then, then + 400 * day) == whole.substr(0, 10));
}

TEST_CASE("spans of time are told in at most two units") {
  CHECK(span_text(-5) == "0s");
  CHECK(span_text(12'345) == "12s");
  CHECK(span_text(60'000) == "1m");
  CHECK(span_text(90'000) == "1m 30s");
  CHECK(span_text(45 * 60'000 + 10'000) == "45m");
  CHECK(span_text(7'500'000) == "2h 5m");
  CHECK(span_text(100LL * 3600 * 1000) == "4d 4h");
}

TEST_CASE("columns are as wide as their widest cell, counted in characters") {
  CHECK(table({{"A", "B"}, {"übel", "x"}, {"y"}}, "  ") == "  A     B\n  übel  x\n  y\n");
}

}  // namespace inbox_poller::cli_printable_test
