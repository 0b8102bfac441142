// The owner of a team's inbox by its name, and whether mail between others is recorded from it. Pure.
#pragma once

#include <chrono>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

enum class BoxOf {
  lead,
  alias,     // the lead's, under another name
  somebody,  // a worker's, or another sender's in delivery.allowed_senders
  nobody,    // a misspelled name, most of the time
};

/// Returns the owner. Called for each inbox of each poll. `is_known`: the name is or was in the roster.
BoxOf whose_box(std::string_view box, std::string_view lead, const config::TeamConfig&, bool is_known);

/// A worker's inbox appears a moment before its name in the roster. An inbox that stays unknown is reported.
inline constexpr std::chrono::seconds nobodys_grace{5};

/// Returns true if mail between workers is recorded too: for an observer where agents share their mail, because no mail
/// is more the team's than other mail.
bool watches_all(const Membership&, const config::BackendFacts&);

}  // namespace inbox_poller::handlers
