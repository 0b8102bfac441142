#include "poller/cli/top/pager.hpp"

#include <algorithm>
#include <utility>

#include "poller/cli/cells.hpp"
#include "poller/cli/top/list_view.hpp"

namespace inbox_poller::poller::cli {

std::vector<std::string> Pager::draw(int columns, std::size_t lines, long long now) {
  if (!std::exchange(is_drawn_, true)) since_ms_ = now;
  if (columns != columns_) {  // the lines change
    columns_ = columns;
    lines_ = wrapped(text_, columns, goes_on);
    top_ = seen_ = 0;
  }
  page_ = std::max<std::size_t>(1, lines);
  scroll(0);
  const std::size_t end = std::min(top_ + page_, lines_.size());
  if (top_ <= seen_) seen_ = std::max(seen_, end);
  return {lines_.begin() + static_cast<long>(top_), lines_.begin() + static_cast<long>(end)};
}

void Pager::scroll(long by) {
  const long last = std::max(0L, static_cast<long>(lines_.size()) - static_cast<long>(page_));
  top_ = static_cast<std::size_t>(std::clamp(static_cast<long>(top_) + by, 0L, last));
}

bool Pager::is_armed(long long now) const { return is_drawn_ && now - since_ms_ >= arming_ms; }

std::string Pager::place() const {
  if (lines_.size() <= page_) return {};
  return "lines " + std::to_string(top_ + 1) + " to " + std::to_string(std::min(top_ + page_, lines_.size())) + " of " +
         std::to_string(lines_.size());
}

}  // namespace inbox_poller::poller::cli
