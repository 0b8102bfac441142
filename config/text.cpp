#include "config/text.hpp"

#include <cstdio>
#include <utility>
#include <vector>

#include "schema/odd_characters.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::config {
bool wildcard_match(std::string_view pattern, std::string_view text, bool question_mark) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last `*` seen, and the place in the text to which it may extend
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == text[t] || (question_mark && pattern[p] == '?'))) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool wildcards_overlap(std::string_view a, std::string_view b) {
  // reached[j]: the signs of `a` so far and the first j signs of `b` can stand for the same text.
  std::vector<char> reached(b.size() + 1, 0);
  reached[0] = 1;
  for (std::size_t j = 0; j < b.size() && b[j] == '*'; ++j) reached[j + 1] = 1;
  for (const char sign : a) {
    std::vector<char> next(b.size() + 1, 0);
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (reached[j] == 0) continue;
      if (sign == '*') {
        std::fill(next.begin() + static_cast<std::ptrdiff_t>(j), next.end(), char{1});
        break;
      }
      if (j < b.size() && b[j] == '*') next[j] = 1;
      if (j < b.size() && (b[j] == sign || b[j] == '?' || b[j] == '*' || sign == '?')) next[j + 1] = 1;
    }
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (next[j] != 0 && b[j] == '*') next[j + 1] = 1;
    }
    reached = std::move(next);
  }
  return reached.back() != 0;
}

std::optional<std::string> find_odd_character(std::string_view text, LineBreaks line_breaks) {
  for (std::size_t at = 0; at < text.size();) {
    const schema::CodePoint c = schema::code_point_at(text, at);
    if (!c.valid || c.value == 0xFFFD) return "a byte that is not UTF-8";
    const bool line_break = c.value == U'\n' || c.value == U'\t';
    if (schema::is_odd(c.value) && !(line_break && line_breaks == LineBreaks::accepted)) {
      char name[16];
      std::snprintf(name, sizeof name, "U+%04X", static_cast<unsigned>(c.value));
      return "the invisible character " + std::string(name);
    }
    at += c.length;
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(any_blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(any_blank) + 1 - begin);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace inbox_poller::config
