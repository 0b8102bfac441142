#include "schema/plain_run.hpp"

#include "tests/support/catch.hpp"
#include <string>

#include "schema/json_scan.hpp"

namespace inbox_poller::schema::plain_run_test {

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

}  // namespace inbox_poller::schema::plain_run_test
