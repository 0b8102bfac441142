// Letters that a reader, or a file system that ignores case, takes for the same.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Returns one letter without its case by Unicode's simple case folding. Covers Latin-1, Latin Extended-A, the
/// full-width letters, and the basic letters of Greek, Cyrillic and Armenian. Also covers everything that folds to one
/// ASCII letter (U+017F is s, U+212A is k). Any other character stays.
char32_t simple_fold(char32_t);

/// Returns a text without case: simple_fold(), and the full foldings that give ASCII letters. U+00DF and U+1E9E are ss;
/// U+FB00 to U+FB06 are ff, fi, fl, ffi, ffl, st, st. Separate accents are not joined to their letters. Invalid UTF-8
/// stays.
std::string fold_case(std::string_view text);

/// Returns the ASCII character that a reader sees, in lower case: for full-width forms, mathematical letters, foreign
/// brackets, slashes, hyphens and colons, and Cyrillic and Greek letters of the same shape. Any other character stays.
char32_t look(char32_t);

}  // namespace inbox_poller::schema
