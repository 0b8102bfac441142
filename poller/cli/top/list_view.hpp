// A list on the screen without its drawing: selection, view, marks and filter. Pure; time is a parameter. Invariants:
// The selection follows its row, and stays on its screen line when rows are added above. A row counts as seen only
// while it is selected and drawn.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "schema/operations/message.hpp"
#include "schema/operations/team.hpp"

namespace inbox_poller::poller::cli {

struct WorkerShown {
  operations::Text team;
  operations::Member member;
};

/// The record of a row, on the pages of requests, teams, workers, chat and the log.
using Shown =
    std::variant<operations::OpenRequest, operations::Team, WorkerShown, operations::SaidMessage, operations::Request>;

/// Time that a row must be in view before a deciding key counts; earlier keys were meant for something else.
inline constexpr long long arming_ms = 400;

struct ListRow {
  std::string id;     // identifies the row
  std::string words;  // texts for the filter, in lower case
  Shown shown;
};

class ListView {
 public:
  /// Replaces the rows. `newest_first`: while the first row is selected, the selection stays at the first place.
  void set(std::vector<ListRow> rows, bool newest_first = false);
  /// Keeps only rows with this text, case-insensitive.
  void filter(const std::string& text);
  [[nodiscard]] const std::string& filter_text() const { return filter_; }

  void move(long by);
  void to_first() { select(0); }
  void to_last() { select(rows_.size()); }
  /// Selects the row on this line of the last drawing, if there is one; true if it was selected before.
  bool select_line(std::size_t line);
  [[nodiscard]] const ListRow* selected() const { return fits_.empty() ? nullptr : &rows_[fits_[at_]]; }
  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::size_t size() const { return fits_.size(); }
  [[nodiscard]] std::size_t total() const { return rows_.size(); }

  void toggle_mark();
  /// Marks the rows with these ids, and returns how many exist.
  std::size_t mark(const std::set<std::string>& ids);
  void clear_marks() { marks_.clear(); }
  [[nodiscard]] bool is_marked(const ListRow& row) const { return marks_.contains(row.id); }
  /// Marked rows, including those that the filter hides.
  [[nodiscard]] std::vector<const ListRow*> marked() const;

  /// Returns the rows for this many lines, with the selected one, and records that it is drawn.
  std::vector<const ListRow*> draw(std::size_t lines, long long now);
  /// Must be called when something else is on the screen.
  void hidden() { drawn_.clear(); }
  [[nodiscard]] bool is_drawn() const { return selected() != nullptr && drawn_ == selected()->id; }
  [[nodiscard]] bool is_armed(long long now) const;

 private:
  void select(std::size_t at);
  void fit();

  std::vector<ListRow> rows_;
  std::vector<std::size_t> fits_;  // indexes in rows_ of those that pass the filter
  std::string filter_;
  std::size_t at_ = 0;   // index in fits_
  std::size_t top_ = 0;  // index in fits_ of the first line
  std::size_t lines_ = 1;
  std::set<std::string> marks_;
  std::string drawn_;  // id of the selected row when it was last drawn
  long long drawn_ms_ = 0;
};

/// Converts ASCII letters to lower case.
std::string folded(std::string text);

}  // namespace inbox_poller::poller::cli
