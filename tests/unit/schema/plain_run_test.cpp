#include "schema/plain_run.hpp"

#include "tests/support/catch.hpp"
#include <string>

#include "schema/json_scan.hpp"

namespace inbox_poller::schema::plain_run_test {

namespace {

template <PlainEnds ends>
void is_found_everywhere() {
  for (int value = 0; value < 256; ++value) {
    const char c = static_cast<char>(value);
    for (std::size_t at = 0; at < 70; ++at) {
      std::string text(70, 'x');
      text[at] = c;
      const std::size_t expected = ends.has(c) ? at : text.size();
      if (end_of_plain<ends>(text, 0) != expected) FAIL("byte " << value << " at " << at);
      if (end_of_plain<ends>(text, at) != expected) FAIL("byte " << value << " at its own place " << at);
      if (end_of_plain<ends>(std::string_view(text).substr(0, at), 0) != at) FAIL("read after the end, at " << at);
    }
  }
}

}  // namespace

TEST_CASE("a run of printable ASCII ends at each other byte, wherever it stands") {
  for (std::size_t size = 0; size < 20; ++size) {
    const std::string plain(size, 'a');
    for (std::size_t begin = 0; begin <= size; ++begin) CHECK(end_of_printable(plain, begin) == size);
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text = plain;
        text[at] = static_cast<char>(byte);
        const bool printable = byte >= 0x20 && byte <= 0x7E;
        if (end_of_printable(text, 0) != (printable ? size : at)) FAIL(size << ' ' << at << ' ' << byte);
        if (end_of_printable(text, at + 1) != size) FAIL(size << ' ' << at << ' ' << byte);
      }
    }
  }
}

TEST_CASE("quote escapes what it has to, wherever that stands") {
  for (int byte = 0; byte < 128; ++byte) {
    for (std::size_t at = 0; at < 18; ++at) {
      std::string text(18, 'a');
      text[at] = static_cast<char>(byte);
      const std::string token = quote(text);
      if (decode_string(token) != text) FAIL(byte << " at " << at);
      const bool escaped = byte < 0x20 || byte == '"' || byte == '\\';
      if ((token.size() == text.size() + 2) == escaped) FAIL(byte << " at " << at);
    }
  }
}

TEST_CASE("the end of a plain part is found at each place, for each byte") {
  is_found_everywhere<PlainEnds{.other = '"'}>();
  is_found_everywhere<PlainEnds{.from = ' ', .ascii = true}>();
  is_found_everywhere<PlainEnds{.from = ' ', .ascii = true, .one = '\x7F', .other = '\x7F'}>();
  SUCCEED();
}

TEST_CASE("the bytes that end a plain part are those that it names") {
  CHECK(PlainEnds{.other = '"'}.has('"'));
  CHECK(PlainEnds{.other = '"'}.has('\\'));
  CHECK_FALSE(PlainEnds{.other = '"'}.has('\n'));
  CHECK(PlainEnds{.from = ' ', .ascii = true}.has('\x1F'));
  CHECK(PlainEnds{.from = ' ', .ascii = true}.has('\xC3'));
  CHECK_FALSE(PlainEnds{.from = ' ', .ascii = true}.has('\x7F'));
}

}  // namespace inbox_poller::schema::plain_run_test
