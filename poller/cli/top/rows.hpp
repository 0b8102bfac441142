// Answers of the daemon as list rows of `top`, and a row's full text. All texts of agents are made printable here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/cells.hpp"
#include "poller/cli/daemon_model.hpp"
#include "poller/cli/top/list_view.hpp"

namespace inbox_poller::poller::cli {

enum class TopPage { requests, teams, workers, chat, log };
inline constexpr std::size_t top_pages = 5;
std::string_view name_of(TopPage);

/// The part of the model that a page shows.
Part part_on(TopPage);
std::vector<ListRow> rows_of(TopPage, const Known&);
Row heads_of(TopPage);
Row cells_of(const Shown&, long long now);
/// Urgency or outcome of a record, for a terminal with colors.
enum class Tint { none, good, warn, bad };
Tint tint_of(const Shown&, long long now);
/// Tells when an open request is denied.
std::string deadline_text(const operations::Request&, long long now);
/// Returns the whole record as lines.
std::string text_behind(const Shown&);

}  // namespace inbox_poller::poller::cli
