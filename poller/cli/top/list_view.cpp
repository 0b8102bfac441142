#include "poller/cli/top/list_view.hpp"

#include <algorithm>
#include <utility>

namespace inbox_poller::poller::cli {

std::string folded(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

void ListView::set(std::vector<ListRow> rows, bool newest_first) {
  const std::string was = selected() != nullptr ? selected()->id : std::string();
  const std::size_t line = at_ - std::min(top_, at_);
  rows_ = std::move(rows);
  fit();
  const auto same = std::find_if(fits_.begin(), fits_.end(), [&](std::size_t i) { return rows_[i].id == was; });
  const bool stays_first = newest_first && at_ == 0;
  if (same != fits_.end() && !stays_first) at_ = static_cast<std::size_t>(same - fits_.begin());
  select(at_);  // the place of a row that is gone
  top_ = at_ - std::min(line, at_);
  std::set<std::string> marks;
  for (const auto& row : rows_)
    if (marks_.contains(row.id)) marks.insert(row.id);
  marks_ = std::move(marks);
}

void ListView::filter(const std::string& text) {
  const std::string was = selected() != nullptr ? selected()->id : std::string();
  filter_ = folded(text);
  fit();
  const auto same = std::find_if(fits_.begin(), fits_.end(), [&](std::size_t i) { return rows_[i].id == was; });
  select(same != fits_.end() ? static_cast<std::size_t>(same - fits_.begin()) : 0);
}

void ListView::fit() {
  fits_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].words.find(filter_) != std::string::npos) fits_.push_back(i);
}

void ListView::select(std::size_t at) { at_ = fits_.empty() ? 0 : std::min(at, fits_.size() - 1); }

void ListView::move(long by) {
  const auto at = static_cast<long>(at_) + by;
  select(at < 0 ? 0 : static_cast<std::size_t>(at));
}

bool ListView::select_line(std::size_t line) {
  if (line >= lines_ || top_ + line >= fits_.size()) return false;
  const std::size_t before = std::exchange(at_, top_ + line);
  return before == at_;
}

void ListView::toggle_mark() {
  if (const auto* row = selected(); row != nullptr && !marks_.insert(row->id).second) marks_.erase(row->id);
}

std::size_t ListView::mark(const std::set<std::string>& ids) {
  std::size_t count = 0;
  for (const auto& row : rows_)
    if (ids.contains(row.id)) {
      marks_.insert(row.id);
      ++count;
    }
  return count;
}

std::vector<const ListRow*> ListView::marked() const {
  std::vector<const ListRow*> list;
  for (const auto& row : rows_)
    if (marks_.contains(row.id)) list.push_back(&row);
  return list;
}

std::vector<const ListRow*> ListView::draw(std::size_t lines, long long now) {
  lines_ = std::max<std::size_t>(1, lines);
  if (at_ < top_) top_ = at_;
  if (at_ >= top_ + lines_) top_ = at_ + 1 - lines_;
  if (top_ + lines_ > fits_.size()) top_ = fits_.size() - std::min(lines_, fits_.size());
  const std::string id = selected() != nullptr ? selected()->id : std::string();
  if (std::exchange(drawn_, id) != id) drawn_ms_ = now;
  std::vector<const ListRow*> rows;
  for (std::size_t i = top_; i < std::min(top_ + lines_, fits_.size()); ++i) rows.push_back(&rows_[fits_[i]]);
  return rows;
}

bool ListView::is_armed(long long now) const {
  return is_drawn() && now - drawn_ms_ >= arming_ms;
}

}  // namespace inbox_poller::poller::cli
