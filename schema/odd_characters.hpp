// The table of characters that a reader does not see, or mistakes: control characters, white space other than the plain
// blank, and characters that are invisible or turn the direction. Rules refuse all of them, screens and JSON lines
// escape them, and blocks for the lead remove or replace them by class. Source: Unicode 16.0,
// Default_Ignorable_Code_Point, White_Space and the general categories Cc, Cf, Zl and Zp (of Cf not the visible signs
// of Arabic, Syriac and Kaithi numbers), and characters that fonts draw as nothing.
#pragma once

namespace inbox_poller::schema {

enum class Oddity {
  none,            // visible as it is
  control,         // C0, DEL, C1: a terminal may obey it; includes newline, tab and U+0085
  line_separator,  // U+2028, U+2029
  blank,           // white space and its lookalikes, except the plain blank
  joiner,          // invisible alone, but part of the spelling of emoji and several scripts
  invisible,       // invisible, hides one text in another, or turns the direction of what follows
};

Oddity oddity_of(char32_t);

inline bool is_odd(char32_t c) { return oddity_of(c) != Oddity::none; }

}  // namespace inbox_poller::schema
