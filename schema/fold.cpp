#include "schema/fold.hpp"

#include <array>

#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

struct Alike {
  std::u32string_view characters;
  char32_t ascii;
};

/// Single characters that look like an ASCII character; in lower case.
constexpr std::array<Alike, 24> lookalikes{{
    {U"\u2039\u2329\u3008\u27E8\u276C\u276E\u2770\u29FC\uFE64\u02C2\u1438\u300A\u27EA\u00AB\uFE3D\uFE3F\u2A9A\u22D6",
     '<'},
    {U"\u2044\u2215\u29F8\u2571\u3033", '/'},
    {U"\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uFE63\uFE58\u2043\u058A", '-'},
    {U"\uFE55\uFE13\uA789\u2236\u02D0", ':'},
    {U"\u0430\u03B1\u0251", 'a'},
    {U"\u0441\u03F2", 'c'},
    {U"\u0501", 'd'},
    {U"\u0435\u0454\u212E", 'e'},
    {U"\u0261", 'g'},
    {U"\u04BB\u210E", 'h'},
    {U"\u0456\u03B9\u0131", 'i'},
    {U"\u0458", 'j'},
    {U"\u043A\u03BA", 'k'},
    {U"\u04CF\u2113", 'l'},
    {U"\u043C\u03BC", 'm'},
    {U"\u043D\u03BD\u0578", 'n'},
    {U"\u043E\u03BF\u0585", 'o'},
    {U"\u0440\u03C1", 'p'},
    {U"\u051B", 'q'},
    {U"\u0455", 's'},
    {U"\u0442\u03C4", 't'},
    {U"\u03C5\u057D", 'u'},
    {U"\u0445\u03C7", 'x'},
    {U"\u0443\u03B3", 'y'},
}};

bool is_in(char32_t c, char32_t first, char32_t last) { return first <= c && c <= last; }

/// Returns the ASCII letters of a character whose full folding has several.
std::string_view folded_to_several(char32_t c) {
  switch (c) {
    case 0xDF:
    case 0x1E9E: return "ss";
    case 0xFB00: return "ff";
    case 0xFB01: return "fi";
    case 0xFB02: return "fl";
    case 0xFB03: return "ffi";
    case 0xFB04: return "ffl";
    case 0xFB05:
    case 0xFB06: return "st";
    default: return {};
  }
}

}  // namespace

char32_t simple_fold(char32_t c) {
  if (c < 0x80) return is_in(c, 'A', 'Z') ? c + 0x20 : c;
  if (c == 0x17F) return 's';
  if (c == 0x212A) return 'k';
  if (c == 0x212B) return 0xE5;
  if (c == 0xB5) return 0x3BC;
  if (c == 0x3C2) return 0x3C3;
  if (c == 0x178) return 0xFF;
  if (c == 0x130) return c;  // the dotted I has no simple folding
  if ((is_in(c, 0xC0, 0xDE) && c != 0xD7) || (is_in(c, 0x391, 0x3AB) && c != 0x3A2)) return c + 0x20;
  if (is_in(c, 0x410, 0x42F) || is_in(c, 0xFF21, 0xFF3A)) return c + 0x20;
  if (is_in(c, 0x400, 0x40F)) return c + 0x50;
  if (is_in(c, 0x531, 0x556)) return c + 0x30;
  const bool even_is_large = is_in(c, 0x100, 0x137) || is_in(c, 0x14A, 0x177) || is_in(c, 0x460, 0x481);
  const bool odd_is_large = is_in(c, 0x139, 0x148) || is_in(c, 0x179, 0x17E);
  if ((even_is_large && c % 2 == 0) || (odd_is_large && c % 2 == 1)) return c + 1;
  return c;
}

std::string fold_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const std::string_view several = folded_to_several(point.value);
    const char32_t one = simple_fold(point.value);
    if (point.valid && !several.empty())
      out += several;
    else if (point.valid && one != point.value)
      append_utf8(out, one);
    else
      out += text.substr(at, point.length);
    at += point.length;
  }
  return out;
}

char32_t look(char32_t c) {
  if (c < 0x80) return simple_fold(c);
  if (is_in(c, 0xFF01, 0xFF5E)) return simple_fold(c - 0xFEE0);
  if (is_in(c, 0x1D400, 0x1D6A3)) return 'a' + (c - 0x1D400) % 26;  // thirteen alphabets, upper and lower case by turns
  if (is_in(c, 0x3040, 0xA6FF) || is_in(c, 0xAC00, 0xFDFF)) return c;  // no lookalikes here
  const char32_t small = simple_fold(c);
  for (const Alike& alike : lookalikes)
    if (alike.characters.find(small) != std::u32string_view::npos) return alike.ascii;
  return small;
}

}  // namespace inbox_poller::schema
