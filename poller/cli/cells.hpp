// Texts in the cells of a terminal: how many they take, what fits, and how what does not fit goes on. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::poller::cli {

/// How many cells the text takes at most: one for letters of Europe and usual punctuation, two for everything that may
/// be wide. Our own colours (ESC [ … m) take none.
int cells(std::string_view text);

/// The beginning of the text that fits. A character that takes none stays with what stands before it.
std::string_view fitting(std::string_view text, int columns);
/// The end of the text that fits.
std::string_view fitting_end(std::string_view text, int columns);

/// All of it, or what fits with "…" behind it.
std::string cut(std::string_view text, int columns);

/// How a line of ours goes on below itself: none begins so otherwise, and what agents wrote cannot pass for one.
inline constexpr std::string_view goes_on = "    : ";

/// Lines no wider than this. What goes on in a further line begins with `margin`.
std::vector<std::string> wrapped(std::string_view text, int columns, std::string_view margin);

/// Words onto as few lines as they need; a word that is longer is taken apart.
std::vector<std::string> by_words(std::string_view text, int columns);

using Row = std::vector<std::string>;

/// Columns as wide as their widest cell, two spaces between them; each line begins with `margin`. Where that is wider
/// than `columns` (0: no matter how wide), the widest columns become narrower, and their cells have several lines.
std::string table(const std::vector<Row>& rows, std::string_view margin, int columns = 0);

/// The same with one line a row, whatever does not fit cut: first the end of the last column, which keeps 24 cells if
/// it can, then the others but the first.
std::string list(const std::vector<Row>& rows, int columns = 0);

}  // namespace inbox_poller::poller::cli
