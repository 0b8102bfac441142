// `$(cat <<'EOF' … EOF)`: a text that an agent writes over several lines, as the message of a commit. It runs `cat` and
// nothing else, because the quoted delimiter keeps the shell from reading the text. Invariant: what is accepted has one
// meaning in every shell, also in one that looks for the end of `$(` by counting parentheses, with or without quotes
// (bash before 4.0, which macOS has). Source: POSIX, XCU 2.7.4 and 2.6.3.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::config {

struct QuotedDocument {
  std::string text;        // what the substitution becomes: without the line breaks at the end
  std::size_t length = 0;  // of the whole, from `$(` to the closing parenthesis
};

/// Reads such a document at the start of `line`, which stands in double quotes. Returns nothing for everything else,
/// and where a shell could see another end of it.
std::optional<QuotedDocument> quoted_document(std::string_view line);

}  // namespace inbox_poller::config
