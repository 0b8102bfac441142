#include "config/quoted_document.hpp"

#include <algorithm>

namespace inbox_poller::config {
namespace {

/// Removes `text` from the front of `rest`.
bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

void skip(std::string_view& rest, std::string_view signs) {
  rest.remove_prefix(std::min(rest.find_first_not_of(signs), rest.size()));
}

/// Reads `'EOF'`, `"EOF"` or `\EOF`; empty if it is not quoted, or not a plain word.
std::string_view take_delimiter(std::string_view& rest) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  const char quote = rest.empty() ? '\0' : rest.front();
  if (quote != '\'' && quote != '"' && quote != '\\') return {};
  rest.remove_prefix(1);
  const std::string_view word = rest.substr(0, rest.find_first_not_of(plain));
  rest.remove_prefix(word.size());
  if (quote != '\\' && !take(rest, std::string_view(&quote, 1))) return {};
  return word;
}

/// Returns true if a shell that counts parentheses, and skips the text in these quotes, would close a parenthesis that
/// the line did not open. `inside`: the quote that is open at the line's start, or 0.
bool closes_early(std::string_view line, std::string_view quotes, char inside) {
  int open = 0;
  for (const char c : line) {
    if (inside != '\0') {
      if (c == inside) inside = '\0';
    } else if (quotes.find(c) != std::string_view::npos) {
      inside = c;
    } else if (c == '(') {
      ++open;
    } else if (c == ')' && --open < 0) {
      return true;
    }
  }
  return false;
}

/// Checks every set of quotes that a shell may know here, and each quote that may be open from an earlier line. A
/// comment hides no end if each line closes what it opens.
bool line_closes_early(std::string_view line, std::string_view above) {
  for (const std::string_view quotes : {"", "'", "\"", "`", "'\"", "'`", "\"`", "'\"`"}) {
    if (closes_early(line, quotes, '\0')) return true;
    for (const char quote : quotes) {
      if (above.find(quote) != std::string_view::npos && closes_early(line, quotes, quote)) return true;
    }
  }
  return std::ranges::count(line, '(') != std::ranges::count(line, ')');
}

/// Returns true if no shell finds an earlier end. A shell that misses the true end finds none and runs nothing.
bool has_one_end(std::string_view text, std::string_view behind) {
  if (text.find_first_of("()'\"`\\#$") == std::string_view::npos) return true;
  if (behind.find(')') != std::string_view::npos) return false;
  if (text.find(')') == std::string_view::npos) return true;
  if (text.find_first_of("\\$") != std::string_view::npos) return false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (line_closes_early(text.substr(at, end - at), text.substr(0, at))) return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

std::optional<QuotedDocument> quoted_document(std::string_view line) {
  std::string_view rest = line;
  if (!take(rest, "$(")) return std::nullopt;
  skip(rest, " \t");
  if (!take(rest, "cat")) return std::nullopt;
  skip(rest, " \t");
  if (!take(rest, "<<")) return std::nullopt;
  const bool drops_tabs = take(rest, "-");
  skip(rest, " \t");
  const std::string_view delimiter = take_delimiter(rest);
  skip(rest, " \t");
  if (delimiter.empty() || !take(rest, "\n")) return std::nullopt;
  QuotedDocument document;
  const std::string_view body = rest;
  for (;;) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view one = rest.substr(0, end);
    const std::size_t begin = body.size() - rest.size();
    rest.remove_prefix(end);
    if (drops_tabs) skip(one, "\t");
    if (one == delimiter) {
      skip(rest, " \t\n");
      if (!take(rest, ")") || !has_one_end(body.substr(0, begin), rest)) return std::nullopt;
      break;
    }
    document.text.append(one).append("\n");
    rest.remove_prefix(1);
  }
  while (document.text.ends_with('\n')) document.text.pop_back();
  document.length = line.size() - rest.size();
  return document;
}

}  // namespace inbox_poller::config
