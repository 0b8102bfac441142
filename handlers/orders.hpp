// What the lead's side sends to workers of its own accord and without an answer: modes and permission rules. Pure.
// Source: docs/wire.md W22.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/rules.hpp"
#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// A message for the member's inbox from the lead. `origin` tells two orders of the same words apart (what caused them);
/// the same origin gives the same message but for the time.
Post order_to(std::string_view member, std::string_view text, std::string_view origin, const TeamView&,
                     EpochMs now_ms);

/// Why nothing is sent to this name: no member has it, or it is the lead's own. Empty: it is a worker.
std::optional<NotTaken> why_no_worker(std::string_view member, const TeamView&);

/// A mode_set_request, or why not: above modes.ceiling, no such member, the lead itself.
std::variant<Post, NotTaken> set_mode(std::string_view member, config::PermissionMode, std::string_view origin,
                                             const TeamView&, EpochMs now_ms);

/// The rule as it is meant when it shall hold below a directory: "Edit" and "/repo" give "Edit(//repo/**)". Refused
/// ("rule.…") when the rule has a specifier already or the tool takes no paths, when the directory is not absolute,
/// or when the rule would never allow anything.
Result<config::PermissionRule> team_rule(std::string_view rule, std::string_view directory);

/// A team_permission_update that adds the rule for the worker's session. Each rule carries its toolName: one without
/// stops an old client.
std::variant<Post, NotTaken> share_rule(std::string_view member, const config::PermissionRule&,
                                               std::string_view origin, const TeamView&, EpochMs now_ms);

}  // namespace inbox_poller::handlers
