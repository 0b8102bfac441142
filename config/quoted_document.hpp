// `$(cat <<'EOF' … EOF)`: a text of several lines, such as a commit message. It runs `cat` only, because the quoted
// delimiter keeps the shell from reading the text. Invariant: an accepted text has one meaning in every shell,
// including one that finds the end of `$(` by counting parentheses, with or without quotes (bash before 4.0, which
// macOS has). Source: POSIX, XCU 2.7.4 and 2.6.3.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::config {

struct QuotedDocument {
  std::string text;        // the result of the substitution, without the line breaks at the end
  std::size_t length = 0;  // from `$(` to the closing parenthesis
};

/// Reads such a document at the start of `line`, which is in double quotes. Returns nothing for any other text, or if a
/// shell might see another end.
std::optional<QuotedDocument> quoted_document(std::string_view line);

}  // namespace inbox_poller::config
