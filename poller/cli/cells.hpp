// Layout of texts in terminal cells: width, truncation, wrapping, tables. Pure functions.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::poller::cli {

/// Counts the cells of a text, at most: one for European letters and common punctuation, two for all characters that
/// may be wide. The program's own colors (ESC [ … m) count zero.
int cells(std::string_view text);

/// Returns the beginning of the text that fits. A character of zero cells stays with the character before it.
std::string_view fitting(std::string_view text, int columns);
/// Returns the end of the text that fits.
std::string_view fitting_end(std::string_view text, int columns);

/// Returns the whole text, or the part that fits followed by "…".
std::string cut(std::string_view text, int columns);

/// Margin of a continued line. No other line of the program begins with it, so an agent's text cannot imitate one.
inline constexpr std::string_view goes_on = "    : ";

/// Wraps a text between words to lines of at most `columns` cells, with all its bytes. A word that is too long is split.
/// Each continued line begins with `margin`.
std::vector<std::string> wrapped(std::string_view text, int columns, std::string_view margin);

/// Wraps a text between words (`columns` 0: not at all). A word that is too long is split. Each continued line begins
/// with `indent` spaces, at most half of the line.
std::vector<std::string> by_words(std::string_view text, int columns, int indent = 0);

/// Lays out a command's help: joins the lines of a paragraph and wraps them. Options and exit codes hang below their
/// texts. Examples stay as they are, so that they can be copied. `columns` 0: all does.
std::string reflowed(std::string_view text, int columns);

using Row = std::vector<std::string>;

/// Formats columns as wide as their widest cell, two spaces between them; each line begins with `margin`. If the result
/// exceeds `columns` (0: no limit), the widest columns are narrowed and their cells wrapped. A word is split only if
/// the words do not fit otherwise. Continued lines of the last column are indented.
std::string table(const std::vector<Row>& rows, std::string_view margin, int columns = 0);

/// Formats one line a row; cells that do not fit are cut. The last column is cut first, down to 24 cells. Then the
/// columns between the first and the last are cut. The column with the title `whole` is never cut.
std::string list(const std::vector<Row>& rows, int columns = 0, std::string_view whole = {});

/// Leaves out the columns with these titles, in this order, until the rows fit with at most 24 cells in each column.
std::vector<Row> without(std::vector<Row> rows, int columns, std::initializer_list<std::string_view> titles);

}  // namespace inbox_poller::poller::cli
