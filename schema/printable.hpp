// Texts of agents on a person's terminal: nothing that moves the cursor, hides, or turns the reading direction gets
// through unseen. What is shown is what will be carried out, so nothing is left out either: odd characters become
// visible escapes.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// For one line: control characters (newline and tab too) as `\n`, `\x1b`; invisible and bidirectional characters as
/// `<U+202E>`; bytes that are not UTF-8 as `\xff`.
std::string printable(std::string_view text);

/// The same for a text of several lines, each behind `margin`: a text cannot pass for a part of what surrounds it.
std::string printable_block(std::string_view text, std::string_view margin);

/// Serialised JSON with the same characters as `\u` escapes: the same value, harmless on a terminal.
std::string printable_json(std::string_view json);

/// As one word of a POSIX shell.
std::string shell_word(std::string_view text);

}  // namespace inbox_poller::schema
