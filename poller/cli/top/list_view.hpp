// A list on the screen without its drawing: which row is selected, what is in view, what is marked, what a filter
// leaves. Pure; time is a parameter. Invariants: the selection follows its row, wherever that goes, and stays on its line
// of the screen when rows come in above it; a row counts as looked at only while it was selected and drawn.
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

/// What a row stands for: on the pages of asks, teams, workers, chat and the log.
using Shown =
    std::variant<operations::OpenAsk, operations::Team, WorkerShown, operations::SaidMessage, operations::Ask>;

/// Keys that decide something count only for what has been in view for so long: what was typed before was not for it.
inline constexpr long long arming_ms = 400;

struct ListRow {
  std::string id;     // what makes it this row and no other
  std::string words;  // what a filter looks in, in lower case
  Shown shown;
};

class ListView {
 public:
  /// `newest_first`: whoever stands on the first row looks at what is new, and stays there.
  void set(std::vector<ListRow> rows, bool newest_first = false);
  /// Only rows with this text in them, in whatever case.
  void filter(const std::string& text);
  [[nodiscard]] const std::string& filter_text() const { return filter_; }

  void move(long by);
  void to_first() { select(0); }
  void to_last() { select(rows_.size()); }
  [[nodiscard]] const ListRow* selected() const { return fits_.empty() ? nullptr : &rows_[fits_[at_]]; }
  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::size_t size() const { return fits_.size(); }
  [[nodiscard]] std::size_t total() const { return rows_.size(); }

  void toggle_mark();
  /// Marks these too, where there are such rows; so many there are.
  std::size_t mark(const std::set<std::string>& ids);
  void clear_marks() { marks_.clear(); }
  [[nodiscard]] bool is_marked(const ListRow& row) const { return marks_.contains(row.id); }
  /// Also those that the filter hides.
  [[nodiscard]] std::vector<const ListRow*> marked() const;

  /// The rows for so many lines, the selected one among them, which is drawn from now on.
  std::vector<const ListRow*> draw(std::size_t lines, long long now);
  /// Something else is on the screen.
  void hidden() { drawn_.clear(); }
  [[nodiscard]] bool is_drawn() const { return selected() != nullptr && drawn_ == selected()->id; }
  [[nodiscard]] bool is_armed(long long now) const;

 private:
  void select(std::size_t at);
  void fit();

  std::vector<ListRow> rows_;
  std::vector<std::size_t> fits_;  // of rows_, those that the filter leaves
  std::string filter_;
  std::size_t at_ = 0;   // of fits_
  std::size_t top_ = 0;  // of fits_, the first line
  std::size_t lines_ = 1;
  std::set<std::string> marks_;
  std::string drawn_;  // the selected row, as it was drawn last
  long long drawn_ms_ = 0;
};

/// Letters of ASCII in lower case.
std::string folded(std::string text);

}  // namespace inbox_poller::poller::cli
