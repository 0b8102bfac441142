// The table of docs/reference/programs.md, from programs_table.inc: a row a line, programs | operands | options; an
// indented line continues the row. Sources: the manuals of the programs (GNU, and BSD if different), and public
// collections of options that execute or write.
#include <algorithm>

#include "config/programs.hpp"

namespace inbox_poller::config {
namespace {

constexpr std::string_view table_text =
#include "config/programs_table.inc"
    ;

/// Joins rows that span several lines into one line each.
std::string unfolded() {
  std::string text(table_text);
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;)
    text[at - 1] == ',' ? text.erase(at, 3) : text.replace(at, 3, " ");
  return text;
}

}  // namespace

std::span<const ProgramRow> program_rows() {
  static const std::string text = unfolded();
  static const std::vector<ProgramRow> rows = [] {
    std::vector<ProgramRow> found;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      const std::size_t first = line.find(" | ");
      if (line.starts_with('#') || first == std::string_view::npos) continue;
      const std::size_t second = line.find(" |", first + 3);
      const std::string_view options = line.substr(std::min(second + 3, line.size()));
      found.push_back({line.substr(0, first), line.substr(first + 3, second - first - 3), options});
    }
    return found;
  }();
  return rows;
}

}  // namespace inbox_poller::config
