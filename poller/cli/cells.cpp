#include "poller/cli/cells.hpp"

#include <algorithm>
#include <numeric>

#include "schema/utf8.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr int narrowest = 8;  // cells of a narrowed column
constexpr int gap = 2;        // cells between columns
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
std::vector<std::string> lines_of(const std::string& cell, int columns) {
  auto lines = by_words(cell, columns);
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

std::vector<int> widths_of(const std::vector<Row>& rows, int columns) {
  std::vector<int> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], cells(row[i]));
  }
  if (columns == 0 || widths.empty()) return widths;
  auto left = std::accumulate(widths.begin(), widths.end(), gap * (static_cast<int>(widths.size()) - 1)) - columns;
  for (; left > 0; --left) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= narrowest) break;
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

std::vector<std::string> by_words(std::string_view text, int columns) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view part = part_of(text, columns);
    text.remove_prefix(part.size());
    lines.emplace_back(part.substr(0, part.find_last_not_of(' ') + 1));
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

std::string table(const std::vector<Row>& rows, std::string_view margin, int columns) {
  const auto widths = widths_of(rows, columns == 0 ? 0 : std::max(columns - static_cast<int>(margin.size()), 1));
  std::string out;
  for (const Row& row : rows) {
    std::vector<std::vector<std::string>> split;
    std::size_t most = 1;
    for (std::size_t i = 0; i < row.size(); ++i) {
      split.push_back(columns == 0 ? std::vector{row[i]} : lines_of(row[i], widths[i]));
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

std::string list(const std::vector<Row>& rows, int columns) {
  auto widths = widths_of(rows, 0);
  if (widths.empty()) return {};
  constexpr int of_last = 24;
  constexpr int of_others = 5;
  auto over = std::accumulate(widths.begin(), widths.end(), gap * (static_cast<int>(widths.size()) - 1)) - columns;
  const auto shrink = [&](int& width, int least) {
    const int less = std::clamp(width - least, 0, std::max(over, 0));
    width -= less;
    over -= less;
  };
  if (columns > 0) {
    shrink(widths.back(), of_last);
    while (over > 0 && widths.size() > 2) {
      const auto widest = std::max_element(widths.begin() + 1, widths.end() - 1);
      if (*widest <= of_others) break;
      shrink(*widest, *widest - 1);
    }
    shrink(widths.back(), 1);
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
