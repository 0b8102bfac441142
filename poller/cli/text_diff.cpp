#include "poller/cli/text_diff.hpp"

#include <algorithm>
#include <vector>

namespace inbox_poller::poller::cli {

namespace {

constexpr std::size_t around = 3;
constexpr std::size_t most_cells = 16'000'000;  // of the table that is filled for what lies between the equal ends

struct Line {
  char mark = ' ';  // ' ', '-' or '+'
  std::string_view text;
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

using Lines = std::vector<std::string_view>;

/// Lengths of the longest common subsequences of what begins at (i, j).
std::vector<unsigned> common_lengths(const Lines& a, const Lines& b) {
  const std::size_t width = b.size() + 1;
  std::vector<unsigned> longest((a.size() + 1) * width);
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      longest[i * width + j] = a[i] == b[j] ? longest[(i + 1) * width + j + 1] + 1
                                            : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
  return longest;
}

void align(const Lines& a, const Lines& b, std::vector<Line>& out) {
  const bool too_much = (a.size() + 1) * (b.size() + 1) > most_cells;
  const auto longest = too_much ? std::vector<unsigned>() : common_lengths(a, b);
  const std::size_t width = b.size() + 1;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (!too_much && i < a.size() && j < b.size() && a[i] == b[j]) {
      out.push_back({' ', a[i++]});
      ++j;
    } else if (i < a.size() &&
               (j == b.size() || too_much || longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      out.push_back({'-', a[i++]});
    } else {
      out.push_back({'+', b[j++]});
    }
  }
}

std::string range(std::size_t first, std::size_t count) {
  return std::to_string(count == 0 ? first : first + 1) + ',' + std::to_string(count);
}

/// The lines [begin, end), of which `old_line` and `new_line` stand before them in the two texts.
std::string hunk(const std::vector<Line>& lines, std::size_t begin, std::size_t end, std::size_t old_line,
                 std::size_t new_line) {
  std::string body;
  std::size_t old_count = 0;
  std::size_t new_count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const auto& [mark, text] = lines[i];
    old_count += mark != '+' ? 1 : 0;
    new_count += mark != '-' ? 1 : 0;
    body += mark + std::string(text);
    if (!text.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  return "@@ -" + range(old_line, old_count) + " +" + range(new_line, new_count) + " @@\n" + body;
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view name) {
  if (before == after) return {};
  Lines a = lines_of(before);
  Lines b = lines_of(after);
  std::vector<Line> lines;
  std::size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) lines.push_back({' ', a[same++]});
  std::size_t tail = 0;
  while (tail < a.size() - same && tail < b.size() - same && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const auto middle = [&](const Lines& all) {
    return Lines(all.begin() + static_cast<std::ptrdiff_t>(same), all.end() - static_cast<std::ptrdiff_t>(tail));
  };
  align(middle(a), middle(b), lines);
  for (std::size_t i = a.size() - tail; i < a.size(); ++i) lines.push_back({' ', a[i]});

  std::string diff = "--- " + std::string(name) + "\n+++ " + std::string(name) + '\n';
  std::size_t old_line = 0;
  std::size_t new_line = 0;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t change = i;
    while (change < lines.size() && lines[change].mark == ' ') ++change;
    if (change == lines.size()) break;
    const std::size_t begin = std::max(i, change < around ? 0 : change - around);
    std::size_t end = change + 1;  // behind the last change that is near enough
    for (std::size_t next = end; next < lines.size() && next < end + 2 * around + 1; ++next)
      if (lines[next].mark != ' ') end = next + 1;
    end = std::min(end + around, lines.size());
    old_line += begin - i;
    new_line += begin - i;
    diff += hunk(lines, begin, end, old_line, new_line);
    for (i = begin; i < end; ++i) {
      old_line += lines[i].mark != '+' ? 1 : 0;
      new_line += lines[i].mark != '-' ? 1 : 0;
    }
  }
  return diff;
}

}  // namespace inbox_poller::poller::cli
