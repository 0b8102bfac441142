// Letters that are one and the same to a reader or to a file system that knows no case.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// One letter without its case, as Unicode's simple case folding has it for Latin-1, Latin Extended-A, Greek, Cyrillic,
/// Armenian, the full-width letters, and everything that folds to one ASCII letter (U+017F is s, U+212A is k). Any other
/// stays.
char32_t simple_fold(char32_t);

/// fold() for a whole text, and what Unicode's full folding turns into ASCII letters: U+00DF and U+1E9E are ss, U+FB00
/// to U+FB06 ff, fi, fl, ffi, ffl, st, st. Accents that stand as characters of their own are not joined to their
/// letters. Bytes that are not UTF-8 stay.
std::string fold_case(std::string_view text);

/// The ASCII character that a reader takes this one for, in lower case: full-width forms, mathematical letters, angle
/// brackets, slashes, hyphens and colons of other scripts, Cyrillic and Greek letters of the same shape. Any other stays.
char32_t look(char32_t);

}  // namespace inbox_poller::schema
