#include "schema/odd_characters.hpp"

#include <algorithm>
#include <array>

namespace inbox_poller::schema {

namespace {

struct Range {
  char32_t first;
  char32_t last;
  Oddity oddity;
};

constexpr auto control = Oddity::control;
constexpr auto separator = Oddity::line_separator;
constexpr auto blank = Oddity::blank;
constexpr auto joiner = Oddity::joiner;
constexpr auto invisible = Oddity::invisible;

// In order, without overlaps.
constexpr std::array<Range, 37> odd{
    {{0x00, 0x1F, control},         {0x7F, 0x9F, control},         {0xA0, 0xA0, blank},
     {0xAD, 0xAD, invisible},       {0x34F, 0x34F, joiner},        {0x61C, 0x61C, invisible},
     {0x115F, 0x1160, joiner},      {0x1680, 0x1680, blank},       {0x17B4, 0x17B5, joiner},
     {0x180B, 0x180D, joiner},      {0x180E, 0x180E, invisible},   {0x180F, 0x180F, joiner},
     {0x2000, 0x200A, blank},       {0x200B, 0x200B, invisible},   {0x200C, 0x200D, joiner},
     {0x200E, 0x200F, invisible},   {0x2028, 0x2029, separator},   {0x202A, 0x202E, invisible},
     {0x202F, 0x202F, blank},       {0x205F, 0x205F, blank},       {0x2060, 0x206F, invisible},
     {0x2800, 0x2800, blank},       {0x3000, 0x3000, blank},       {0x3164, 0x3164, joiner},
     {0xFDD0, 0xFDEF, invisible},   {0xFE00, 0xFE0F, joiner},      {0xFEFF, 0xFEFF, invisible},
     {0xFFA0, 0xFFA0, joiner},      {0xFFF0, 0xFFFC, invisible},   {0x13430, 0x1343F, invisible},
     {0x16FE4, 0x16FE4, joiner},    {0x1BCA0, 0x1BCA3, invisible}, {0x1D159, 0x1D159, invisible},
     {0x1D173, 0x1D17A, invisible}, {0xE0000, 0xE00FF, invisible}, {0xE0100, 0xE01EF, joiner},
     {0xE01F0, 0xE0FFF, invisible}}};

static_assert(std::ranges::is_sorted(odd, {}, &Range::first));

}  // namespace

Oddity oddity_of(char32_t c) {
  if (c > 0x1F && c < 0x7F) return Oddity::none;
  if ((c & 0xFFFEU) == 0xFFFEU || c > 0x10FFFF) return invisible;  // not characters
  const auto* const found = std::ranges::lower_bound(odd, c, {}, &Range::last);
  return found != odd.end() && found->first <= c ? found->oddity : Oddity::none;
}

}  // namespace inbox_poller::schema
