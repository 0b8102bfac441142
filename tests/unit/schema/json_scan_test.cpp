#include "schema/json_scan.hpp"

#include <boost/json.hpp>
#include <random>

#include "tests/support/catch.hpp"

namespace inbox_poller::json_scan_test {

using namespace inbox_poller::schema;
namespace json = boost::json;

namespace {

std::vector<std::string> elements(const ArrayScan& scan, std::string_view text) {
  std::vector<std::string> result;
  for (const Span& element : scan.elements) result.emplace_back(element.of(text));
  return result;
}

using Elements = std::vector<std::string>;

}  // namespace

TEST_CASE("an array's elements are found with their exact bytes") {
  const std::string text = " [ 1 , {\"a\":[1,2,{}]} ,\"]\",null,\t[[]],-1.5e+3 ]\r\n";
  const ArrayScan scan = scan_array(text);
  CHECK_FALSE(scan.problem);
  CHECK(elements(scan, text) == Elements{"1", "{\"a\":[1,2,{}]}", "\"]\"", "null", "[[]]", "-1.5e+3"});
  CHECK(scan.array.of(text).front() == '[');
  CHECK(scan.array.of(text).back() == ']');
}

TEST_CASE("a byte order mark before the array is passed over") {
  const std::string text = "\xEF\xBB\xBF[1]";
  const ArrayScan scan = scan_array(text);
  CHECK_FALSE(scan.problem);
  CHECK(scan.array == Span{3, 6});
}

TEST_CASE("what is wrong with a text is said with the place where it is wrong") {
  struct Row {
    std::string text;
    std::size_t offset;
    std::string what;
  };
  const std::vector<Row> rows = {
      {"", 0, "expected '[' at the beginning of an array, found the end of the text"},
      {"{}", 0, "expected '[' at the beginning of an array, found '{'"},
      {"[1 2]", 3, "expected ',' or ']' after an element, found '2'"},
      {"[1,]", 3, "expected a value, found ']'"},
      {"[,1]", 1, "expected a value, found ','"},
      {"[1", 2, "expected ',' or ']' after an element, found the end of the text"},
      {"[[1}", 3, "expected ',' or ']' after an element, found '}'"},
      {"[{\"a\":1]", 7, "expected ',' or '}' after a member, found ']'"},
      {"[{\"a\" 1}]", 6, "expected ':' after a key, found '1'"},
      {"[{\"a\":1,}]", 8, "expected a key in quotes, found '}'"},
      {"[{a:1}]", 2, "expected a key in quotes, found 'a'"},
      {"[\"abc", 5, "the string that begins at byte 1 is not ended"},
      {"[\"\\x\"]", 3, "expected an escape such as \\n or \\u0041, found 'x'"},
      {"[\"\\u12g4\"]", 6, "expected four hexadecimal digits after \\u, found 'g'"},
      {"[tru]", 4, "expected the literal true, found ']'"},
      {"[01]", 2, "expected ',' or ']' after an element, found '1'"},
      {"[1.]", 3, "expected a digit, found ']'"},
      {"[1e]", 3, "expected a digit, found ']'"},
      {"[-]", 2, "expected a digit, found ']'"},
      {"[.5]", 1, "expected a value, found '.'"},
      {"[NaN]", 1, "expected a value, found 'N'"},
      {"[] []", 3, "expected the end of the text, found '['"},
      {std::string("[]\0", 3), 2, "expected the end of the text, found byte 0x00"},
      {"[1,\xFF]", 3, "expected a value, found byte 0xff"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const ArrayScan scan = scan_array(row.text);
    REQUIRE(scan.problem);
    CHECK(scan.problem->offset == row.offset);
    CHECK(scan.problem->what == row.what);
  }
}

TEST_CASE("a file cut off at any byte still yields the elements that are complete") {
  const std::string text = R"([{"a":"x\"]"}, [1,[2]], "s", {"b":{}}])";
  const ArrayScan whole = scan_array(text);
  REQUIRE_FALSE(whole.problem);
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    const ArrayScan scan = scan_array(cut);
    CAPTURE(cut);
    REQUIRE(scan.problem);
    std::size_t complete = 0;
    while (complete < whole.elements.size() && whole.elements[complete].end <= length) ++complete;
    Elements expected = elements(whole, text);
    expected.resize(complete);
    CHECK(elements(scan, cut) == expected);
  }
}

TEST_CASE("strings may hold what real peers write and strict parsers refuse") {
  const std::string text = "[\"\\ud83d\", \"\xFF\xC0\", \"a\nb\x01\"]";
  const ArrayScan scan = scan_array(text);
  CHECK_FALSE(scan.problem);
  CHECK(scan.elements.size() == 3);
}

TEST_CASE("a million brackets are a matter of memory, not of stack") {
  const std::string open(1'000'000, '[');
  CHECK(scan_array(open).problem->what == "expected a value, found the end of the text");
  const std::string balanced = open + std::string(1'000'000, ']');
  CHECK_FALSE(scan_array(balanced).problem);
}

TEST_CASE("numbers keep their bytes: a scan has no opinion on their size") {
  const std::string object = R"({"big":123456789012345678901234567890,"huge":1e99999999999,"exact":0.1000})";
  CHECK(find_member(object, "big") == "123456789012345678901234567890");
  CHECK(find_member(object, "huge") == "1e99999999999");
  CHECK(find_member(object, "exact") == "0.1000");
}

TEST_CASE("the members of an object come in file order, duplicates included, and the last duplicate counts") {
  const std::string text = " { \"a\" : 1 , \"b\" : [ ] , \"a\" : { \"x\" : null } } ";
  const auto members = scan_object(text);
  REQUIRE(members.ok());
  REQUIRE(members->size() == 3);
  CHECK((*members)[0].key.of(text) == "\"a\"");
  CHECK((*members)[1].value.of(text) == "[ ]");
  CHECK(find_member(text, "a") == "{ \"x\" : null }");
  CHECK_FALSE(find_member(text, "x"));
}

TEST_CASE("a key spelled with escapes is the same key") {
  CHECK(find_member(R"({"\u0072ead":true})", "read") == "true");
  CHECK(find_member(R"({"read":false,"\u0072ead":true})", "read") == "true");
}

TEST_CASE("what is not one object has no members and says why") {
  for (const char* text : {"", "null", "[]", "{", "{}{}", "{\"a\"}", "\"{}\""}) {
    CAPTURE(text);
    CHECK_FALSE(scan_object(text).ok());
    CHECK_FALSE(find_member(text, "a"));
  }
  CHECK(scan_object("{\"a\" 1}").error().message == "expected ':' after a key, found '1' at byte 5");
}

TEST_CASE("string tokens decode as JavaScript reads them") {
  CHECK(decode_string(R"("plain")") == "plain");
  CHECK(decode_string(R"("")") == "");
  CHECK(decode_string(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  CHECK(decode_string(R"("\u00e9\u00E9é")") == "ééé");
  CHECK(decode_string(R"("\ud83d\ude00")") == "\xF0\x9F\x98\x80");
  CHECK(decode_string(R"("\u0000")") == std::string(1, '\0'));
  CHECK_FALSE(decode_string("5"));
  CHECK_FALSE(decode_string("\""));
  CHECK_FALSE(decode_string(""));
}

TEST_CASE("a raw control character in a string stands for itself, beside escapes and without") {
  CHECK(decode_string("\"a\x01\n\tb\"") == "a\x01\n\tb");
  CHECK(decode_string("\"a\x01\n\tb\\n\\u00e9\"") == "a\x01\n\tb\n\xC3\xA9");
}

TEST_CASE("half a surrogate pair and invalid UTF-8 become U+FFFD, one for each ill-formed part") {
  const std::string fffd = "\xEF\xBF\xBD";
  CHECK(decode_string(R"("\ud83d")") == fffd);
  CHECK(decode_string(R"("\ude00x")") == fffd + "x");
  CHECK(decode_string(R"("\ud83d\ud83d\ude00")") == fffd + "\xF0\x9F\x98\x80");
  CHECK(decode_string(R"("\ud83d\n")") == fffd + "\n");
  CHECK(decode_string("\"\xF0\x9F\x98\"") == fffd);                // a cut emoji: one part
  CHECK(decode_string("\"\xC0\x80\"") == fffd + fffd);             // overlong
  CHECK(decode_string("\"\xED\xA0\x80\"") == fffd + fffd + fffd);  // a surrogate in UTF-8
  CHECK(decode_string("\"\xF4\x90\x80\x80\"") == fffd + fffd + fffd + fffd);
  CHECK(decode_string("\"a\xE2\x82"
                      "b\"") == "a" + fffd + "b");
}

TEST_CASE("make_parsable changes only what a strict parser refuses") {
  const std::string fine = R"({"a":"\\ud83d é \ud83d\ude00 \u0041\"","n":1e400})";
  CHECK(make_parsable(fine) == fine);
  CHECK(make_parsable(R"("\ud83d")") == R"("\ufffd")");
  CHECK(make_parsable(R"("\ude00\ud83d\ud83d\ude00")") == R"("\ufffd\ufffd\ud83d\ude00")");
  CHECK(make_parsable("\"\xFF\"") == "\"\xEF\xBF\xBD\"");
  CHECK(make_parsable("\\") == "\\");
  CHECK(make_parsable("\\u12") == "\\u12");
}

TEST_CASE("quote spells a string as JSON.stringify does") {
  CHECK(quote("a\"b\\c/é\b\f\n\r\t") == R"("a\"b\\c/é\b\f\n\r\t")");
  CHECK(quote(std::string("\0\x1F\x7F", 3)) == "\"\\u0000\\u001f\x7F\"");
  CHECK(quote("\xE2\x80\xA8") == "\"\xE2\x80\xA8\"");
  CHECK(quote("\xFF") == "\"\xEF\xBF\xBD\"");
}

TEST_CASE("taking elements out of an array leaves every other byte") {
  const std::string text = "\xEF\xBB\xBF [ 1 ,\n2 , 3 ]\n";
  const ArrayScan scan = scan_array(text);
  const auto without = [&](bool a, bool b, bool c) {
    return without_elements(text, scan.array, scan.elements, {a, b, c});
  };
  CHECK(without(false, false, false) == text);
  CHECK(without(true, false, false) == "\xEF\xBB\xBF [ 2 , 3 ]\n");
  CHECK(without(false, true, false) == "\xEF\xBB\xBF [ 1 , 3 ]\n");
  CHECK(without(false, false, true) == "\xEF\xBB\xBF [ 1 ,\n2 ]\n");
  CHECK(without(true, true, true) == "\xEF\xBB\xBF []\n");
}

namespace {

/// A random JSON text with white space, duplicate keys and escapes.
std::string random_json(std::mt19937& random, int depth) {
  const auto up_to = [&](unsigned n) { return random() % n; };
  const auto space = [&] { return std::string(up_to(2), " \n\t\r"[up_to(4)]); };
  static const std::vector<std::string> scalars = {"null",
                                                   "true",
                                                   "false",
                                                   "0",
                                                   "-1",
                                                   "1.25e-3",
                                                   "\"\"",
                                                   "\"é\\n\"",
                                                   "\"\\ud83d\\ude00\"",
                                                   "\"\\\\\"",
                                                   "12345678901234567890"};
  if (depth == 0 || up_to(3) == 0) return scalars[up_to(static_cast<unsigned>(scalars.size()))];
  const bool object = up_to(2) == 0;
  std::string text(1, object ? '{' : '[');
  const unsigned count = static_cast<unsigned>(up_to(4));
  for (unsigned i = 0; i < count; ++i) {
    if (i > 0) text += ",";
    text += space();
    if (object) text += "\"k" + std::to_string(up_to(3)) + "\"" + space() + ":" + space();
    text += random_json(random, depth - 1) + space();
  }
  return text + (object ? "}" : "]");
}

}  // namespace

TEST_CASE("the scanner and Boost.JSON agree on what is JSON, and on every element and member of it") {
  std::mt19937 random(20260207);
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = "[" + random_json(random, 4) + "," + random_json(random, 3) + "]";
    if (round % 2 == 1) text[random() % text.size()] = "{}[],:\"\\x0 "[random() % 11];
    json::error_code error;
    const json::value value = json::parse(make_parsable(text), error);
    const ArrayScan scan = scan_array(text);
    CAPTURE(text);
    REQUIRE(scan.problem.has_value() == (error.failed() || !value.is_array()));
    if (scan.problem) {
      ++refused;
      continue;
    }
    ++accepted;
    REQUIRE(scan.elements.size() == value.as_array().size());
    for (std::size_t i = 0; i < scan.elements.size(); ++i) {
      const std::string_view element = scan.elements[i].of(text);
      REQUIRE(json::parse(make_parsable(element)) == value.as_array()[i]);
      if (!value.as_array()[i].is_object()) continue;
      for (const auto& member : value.as_array()[i].as_object()) {
        const std::string_view found = find_member(element, member.key()).value();
        REQUIRE(json::parse(make_parsable(found)) == member.value());
      }
    }
  }
  CHECK(accepted > 5'000);
  CHECK(refused > 5'000);
}

TEST_CASE("decode_string and Boost.JSON read the same value, and quote writes it back") {
  std::mt19937 random(7);
  const std::vector<std::string> parts = {"a",    "é",    "\\n", "\\u00e9", "\\ud83d\\ude00",
                                          "\\\\", "\\\"", "\\/", " ",       "\xF0\x9F\x98\x80"};
  for (int round = 0; round < 2'000; ++round) {
    std::string token = "\"";
    for (unsigned i = static_cast<unsigned>(random() % 12); i > 0; --i) token += parts[random() % parts.size()];
    token += "\"";
    CAPTURE(token);
    const auto value = decode_string(token);
    REQUIRE(value);
    CHECK(*value == json::parse(token).as_string());
    CHECK(decode_string(quote(*value)) == value);
  }
}

}  // namespace inbox_poller::json_scan_test
