// What the daemon answers, as rows of the console's lists and as the text behind a row. Pure; everything that an agent
// wrote is made printable here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/cells.hpp"
#include "poller/cli/daemon_model.hpp"
#include "poller/cli/top/list_view.hpp"

namespace inbox_poller::poller::cli {

enum class TopPage { asks, teams, workers, chat, log };
inline constexpr std::size_t top_pages = 5;
std::string_view name_of(TopPage);

/// What a page shows of what is known.
Part part_on(TopPage);
std::vector<ListRow> rows_of(TopPage, const Known&);
Row heads_of(TopPage);
Row cells_of(const Shown&, long long now);
/// All of it, as lines.
std::string text_behind(const Shown&);

}  // namespace inbox_poller::poller::cli
