#include "poller/cli/cells.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schema/utf8.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr int narrowest = 8;  // cells of a narrowed column
constexpr int gap = 2;        // cells between columns
constexpr int deeper = 2;     // indentation of a continued cell
constexpr int of_last = 24;   // cells of the last column of a list
constexpr std::string_view plain = "\x1b[0m";

struct Piece {
  int cells = 0;
  std::size_t bytes = 0;
};

/// Returns the character or the color sequence that begins here.
Piece piece_at(std::string_view text, std::size_t at) {
  if (text.substr(at).starts_with("\x1b["))
    if (const auto end = text.find('m', at); end != std::string_view::npos) return {0, end + 1 - at};
  const auto point = schema::code_point_at(text, at);
  const auto value = point.value;
  // Arrows and mathematical signs are as narrow as letters; pictographs may be wide.
  const bool usual = value < 0x1100 || (value >= 0x2010 && value <= 0x2027) || (value >= 0x2190 && value <= 0x22ff) ||
                     (value >= 0x2500 && value <= 0x259f);
  return {usual ? 1 : 2, point.length};
}

/// Wraps a cell. A color that spans several lines is ended in each and restored in the next.
std::vector<std::string> lines_of(const std::string& cell, int columns, int indent) {
  auto lines = by_words(cell, columns, indent);
  std::string color;
  for (std::string& line : lines) {
    line.insert(0, color);
    if (const auto last = line.rfind("\x1b["); last != std::string::npos) {
      color = line.substr(last, line.find('m', last) + 1 - last);
      if (color == plain) color.clear();
    }
    if (!color.empty()) line += plain;
  }
  return lines;
}

std::vector<std::string_view> parts_of(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  for (auto end = text.find(between); end != text.npos; end = text.find(between)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

std::vector<int> widths_of(const std::vector<Row>& rows, int columns) {
  std::vector<int> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], cells(row[i]));
  }
  if (columns == 0 || widths.empty()) return widths;
  auto left = std::accumulate(widths.begin(), widths.end(), gap * (static_cast<int>(widths.size()) - 1)) - columns;
  std::vector<int> words(widths.size(), narrowest);  // the longest of each column
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      for (const std::string_view word : parts_of(row[i], ' ')) words[i] = std::max(words[i], cells(word));
  for (const auto& least : {words, std::vector<int>(widths.size(), narrowest)})
    for (; left > 0; --left) {
      int* widest = nullptr;
      for (std::size_t i = 0; i < widths.size(); ++i)
        if (widths[i] > least[i] && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
      if (widest == nullptr) break;
      --*widest;
    }
  return widths;
}

/// Returns the beginning that fits, with whole words if it has a whole one, but at least one character.
std::string_view part_of(std::string_view text, int columns) {
  const auto part = fitting(text, columns);
  if (part.empty()) return text.substr(0, piece_at(text, 0).bytes);
  if (part.size() == text.size() || text[part.size()] == ' ') return part;
  const auto blank = part.rfind(' ');
  return blank == std::string_view::npos || part.find_first_not_of(' ') > blank ? part : part.substr(0, blank + 1);
}

}  // namespace

int cells(std::string_view text) {
  int count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Piece piece = piece_at(text, at);
    count += piece.cells;
    at += piece.bytes;
  }
  return count;
}

std::string_view fitting(std::string_view text, int columns) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Piece piece = piece_at(text, at);
    if ((columns -= piece.cells) < 0) break;
    at += piece.bytes;
  }
  return text.substr(0, at);
}

std::string_view fitting_end(std::string_view text, int columns) {
  while (cells(text) > columns) text.remove_prefix(piece_at(text, 0).bytes);
  return text;
}

std::string cut(std::string_view text, int columns) {
  if (cells(text) <= columns) return std::string(text);
  return std::string(fitting(text, columns - 1)) + "…";
}

std::vector<std::string> wrapped(std::string_view text, int columns, std::string_view margin) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    std::string begin;
    do {
      const std::string_view part = line.empty() ? line : part_of(line, columns - static_cast<int>(begin.size()));
      lines.push_back(begin + std::string(part));
      line.remove_prefix(part.size());
      begin = margin;
    } while (!line.empty());
  }
  return lines;
}

std::vector<std::string> by_words(std::string_view text, int columns, int indent) {
  if (columns == 0) return {std::string(text)};
  std::vector<std::string> lines;
  indent = std::clamp(indent, 0, columns / 2);
  while (!text.empty()) {
    const std::string margin(lines.empty() ? 0 : static_cast<std::size_t>(indent), ' ');
    const std::string_view part = part_of(text, columns - static_cast<int>(margin.size()));
    text.remove_prefix(part.size());
    lines.push_back(margin + std::string(part.substr(0, part.find_last_not_of(' ') + 1)));
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

std::string reflowed(std::string_view text, int columns) {
  if (columns == 0) return std::string(text);
  std::string out, paragraph;
  bool copies = false;  // examples
  const auto put = [&](std::string_view line, std::size_t indent) {
    for (const std::string& part : by_words(line, columns, static_cast<int>(indent))) out += part + '\n';
  };
  for (const std::string_view line : parts_of(text, '\n')) {
    const bool is_prose = !line.empty() && !line.starts_with(' ') && !line.starts_with("Usage:");
    if (is_prose) paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
    if (is_prose && !line.ends_with(':')) continue;
    if (!paragraph.empty()) {
      copies = paragraph.starts_with("Example");
      put(std::exchange(paragraph, {}), 0);
    }
    if (is_prose) continue;
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t space = line.find("  ", begin);  // before an option's text
    if (copies || line.empty())
      out += std::string(line) + '\n';
    else
      put(line, space == std::string_view::npos ? begin : line.find_first_not_of(' ', space));
  }
  if (!paragraph.empty()) put(paragraph, 0);
  if (!text.ends_with('\n') || out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string table(const std::vector<Row>& rows, std::string_view margin, int columns) {
  const auto widths = widths_of(rows, columns == 0 ? 0 : std::max(columns - static_cast<int>(margin.size()), 1));
  std::string out;
  for (const Row& row : rows) {
    std::vector<std::vector<std::string>> split;
    std::size_t most = 1;
    for (std::size_t i = 0; i < row.size(); ++i) {
      split.push_back(columns == 0 ? std::vector{row[i]}
                                   : lines_of(row[i], widths[i], i + 1 == widths.size() ? deeper : 0));
      most = std::max(most, split.back().size());
    }
    for (std::size_t at = 0; at < most; ++at) {
      std::string line(margin);
      for (std::size_t i = 0; i < split.size(); ++i) {
        const std::string cell = at < split[i].size() ? split[i][at] : std::string();
        line += cell + std::string(static_cast<std::size_t>(widths[i] - cells(cell) + gap), ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
  }
  return out;
}

std::vector<Row> without(std::vector<Row> rows, int columns, std::initializer_list<std::string_view> titles) {
  for (const std::string_view title : titles) {
    int wide = -gap;
    for (const int width : widths_of(rows, 0)) wide += std::min(width, of_last) + gap;
    if (columns == 0 || wide <= columns) break;
    const auto at = std::ranges::find(rows.front(), title) - rows.front().begin();
    for (Row& row : rows)
      if (at < std::ssize(row)) row.erase(row.begin() + at);
  }
  return rows;
}

std::string list(const std::vector<Row>& rows, int columns, std::string_view whole) {
  auto widths = widths_of(rows, 0);
  if (widths.empty()) return {};
  const auto kept = static_cast<std::size_t>(std::ranges::find(rows.front(), whole) - rows.front().begin());
  constexpr int of_others = 5;
  auto over = std::accumulate(widths.begin(), widths.end(), gap * (static_cast<int>(widths.size()) - 1)) - columns;
  const auto shrink = [&](int& width, int least) {
    const int less = std::clamp(width - least, 0, std::max(over, 0));
    width -= less;
    over -= less;
  };
  if (columns > 0) {
    if (kept + 1 != widths.size()) shrink(widths.back(), of_last);
    while (over > 0 && widths.size() > 2) {
      int* widest = nullptr;
      for (std::size_t i = 1; i + 1 < widths.size(); ++i)
        if (i != kept && widths[i] > of_others && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
      if (widest == nullptr) break;
      shrink(*widest, *widest - 1);
    }
    if (kept + 1 != widths.size()) shrink(widths.back(), 1);
    const auto end = widths.begin() + static_cast<std::ptrdiff_t>(std::min(kept + 1, widths.size()));
    if (kept < widths.size())
      columns = std::max(columns, std::accumulate(widths.begin(), end, gap * static_cast<int>(kept)));
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = cut(row[i], widths[i]);
      line += cell + std::string(static_cast<std::size_t>(std::max(0, widths[i] - cells(cell) + gap)), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += (columns > 0 ? cut(line, columns) : line) + '\n';
  }
  return out;
}

}  // namespace inbox_poller::poller::cli
