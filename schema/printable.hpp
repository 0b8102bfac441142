// Agents' texts for a person's terminal. No character moves the cursor, hides text or turns the direction. Nothing is
// left out, because what is shown is what will run: odd characters become visible escapes.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Returns one line: control characters (newline and tab too) as `
/// `, `\x1b`; invisible and bidirectional characters as `<U+202E>`; invalid UTF-8 as `\xff`.
std::string printable(std::string_view text);

/// Returns several lines, each after `margin`, so that the text cannot pass for its surroundings.
std::string printable_block(std::string_view text, std::string_view margin);

/// Returns JSON with these characters as `\u` escapes: the same value, harmless on a terminal.
std::string printable_json(std::string_view json);

/// Returns the text as one word of a POSIX shell.
std::string shell_word(std::string_view text);

}  // namespace inbox_poller::schema
