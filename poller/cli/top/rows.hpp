// What the daemon answers, as rows of the console's lists and as the text behind a row. Pure; everything that an agent
// wrote is made printable here.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/cells.hpp"
#include "poller/cli/top/list_view.hpp"

namespace inbox_poller::poller::cli {

enum class TopPage { asks, teams, workers, chat, log };
inline constexpr std::size_t top_pages = 5;
std::string_view name_of(TopPage);

/// The request whose answer a page shows.
boost::json::object asked_on(TopPage);
std::vector<ListRow> rows_of(TopPage, const boost::json::object& answer);
Row heads_of(TopPage);
Row cells_of(const Shown&, long long now);
/// All of it, as lines.
std::string text_behind(const Shown&);

}  // namespace inbox_poller::poller::cli
