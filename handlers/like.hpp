// Which open requests are like one: those covered by the rule that its approval with `--always` would add. Pure.
#pragma once

#include <string_view>

#include "handlers/request_kind.hpp"

namespace inbox_poller::handlers {

/// Returns the rule that an approval of this request with `--always` would add, or why there is none.
std::variant<NewRule, NotTaken> rule_like(const Request&, const TeamView&);

/// Returns true if this rule alone would allow the request. `cwd`: the directory in which the call would run.
bool covers(const NewRule&, const Request&, std::string_view cwd, const TeamView&);

/// Returns what an allow or deny rule now decides about a waiting request. Empty if no rule covers it or a rule asks;
/// defaults and settings decide nothing here.
std::optional<config::Verdict> ruled(const Request&, std::string_view cwd, const TeamView&);

}  // namespace inbox_poller::handlers
