// Whose a box of the team is, by its name, and whether what others write to each other in it is recorded. Pure.
#pragma once

#include <chrono>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

enum class BoxOf {
  lead,
  alias,     // the lead's, under another name
  somebody,  // a worker's, or another sender's whom the configuration names
  nobody,    // a misspelt name, most of the time
};

/// `is_known`: the name was or is in the roster. For each box of each poll, so it takes what it reads.
BoxOf whose_box(std::string_view box, std::string_view lead, const config::TeamConfig&, bool is_known);

/// A worker's inbox is there a moment before its name is in the roster; what stays nobody's is told.
inline constexpr std::chrono::seconds nobodys_grace{5};

/// True where all mail of a team is recorded, also what workers write to each other: where agents share their mail,
/// nobody's mail is more the team's than another's.
bool watches_all(const Membership&, const config::TransportFacts&);

}  // namespace inbox_poller::handlers
