// The one table of characters that a reader does not see, or not as what they are: control characters, white space that
// is not the plain blank, what is invisible or turns the direction. Rules refuse every one of them, screens and JSON
// lines escape every one, blocks for the lead leave out or respell them by class.
// Source: Unicode 16.0, Default_Ignorable_Code_Point, White_Space and the general categories Cc, Cf, Zl and Zp (of Cf not
// the signs of Arabic, Syriac and Kaithi numbers, which are drawn), and what fonts draw as nothing.
#pragma once

namespace inbox_poller::schema {

enum class Oddity {
  none,            // seen as it is
  control,         // C0, DEL, C1: what a terminal may obey; newline, tab and U+0085 too
  line_separator,  // U+2028, U+2029
  blank,           // white space, and what looks like it, but for the plain blank
  joiner,          // shows nothing by itself, but is a part of how emoji and several scripts are spelled
  invisible,       // shows nothing, hides a text in another, or turns the direction of what follows
};

Oddity oddity_of(char32_t);

inline bool is_odd(char32_t c) { return oddity_of(c) != Oddity::none; }

}  // namespace inbox_poller::schema
