#include "schema/fold.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/code_points.hpp"

namespace inbox_poller::fold_test {

using namespace inbox_poller::schema;
using inbox_poller::test::for_each_code_point;
using inbox_poller::test::utf8;

TEST_CASE("the case of a letter does not count, as Unicode's folding has it") {
  CHECK(fold_case("ABC xyz 09") == "abc xyz 09");
  CHECK(fold_case(".\u017f\u017fh") == ".ssh");      // the long s
  CHECK(fold_case("\u212Aey") == "key");             // the Kelvin sign
  CHECK(fold_case(".\u00dfh \u1e9e") == ".ssh ss");  // full folding, where it gives ASCII
  CHECK(fold_case("\uFB00\uFB01\uFB02\uFB03\uFB04\uFB05\uFB06") == "fffiflffifflstst");
  CHECK(fold_case("MÜLLER ÅŁŹ \u212B") == "müller åłź å");
  CHECK(fold_case("ΣΑΣ ς ΜµΟ") == "σασ σ μμο");
  CHECK(fold_case("ЁЖЙ Ѐ") == "ёжй ѐ");
  CHECK(fold_case("ԱՖ") == "աֆ");
  CHECK(fold_case("ＡＺ") == "ａｚ");
  CHECK(fold_case("\u0130") == "\u0130");
  CHECK(fold_case("×ß÷") == "×ss÷");
  CHECK(fold_case("a\xff\xe2\x82z") == "a\xff\xe2\x82z");
}

TEST_CASE("whatever folds to an ASCII letter is known, and folding once is enough") {
  for_each_code_point([](char32_t c) {
    const std::string once = fold_case(utf8(c));
    if (fold_case(once) != once) FAIL("U+" << std::hex << static_cast<unsigned>(c));
    if (simple_fold(c) < 0x80 && c >= 0x80 && c != 0x17F && c != 0x212A)
      FAIL("U+" << std::hex << static_cast<unsigned>(c) << " folds to ASCII");
    if (simple_fold(c) >= 0x10000 && simple_fold(c) != c) FAIL("too large for fold_case");
  });
}

TEST_CASE("what is drawn like an ASCII character looks like it") {
  for (const char32_t c : std::u32string(U"＜‹〈⟨❬❮❰﹤˂")) CHECK(look(c) == U'<');
  for (const char32_t c : std::u32string(U"／⁄∕⧸╱")) CHECK(look(c) == U'/');
  for (const char32_t c : std::u32string(U"‐‑–—−－")) CHECK(look(c) == U'-');
  for (const char32_t c : std::u32string(U"：﹕꞉∶")) CHECK(look(c) == U':');
  for (const char32_t c : std::u32string(U"mMｍＭ𝐦𝐌𝗆𝕄мМ")) CHECK(look(c) == U'm');
  CHECK(look(U'世') == U'世');
  CHECK(look(U'é') == U'é');
}

}  // namespace inbox_poller::fold_test
