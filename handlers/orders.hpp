// What the lead's side sends to workers of its own accord and without an answer: modes and permission rules. Pure.
// Source: docs/reference/wire.md W22.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/rules.hpp"
#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// A message for the member's inbox from the lead. `origin` tells two orders of the same words apart (what caused them);
/// the same origin gives the same message but for the time.
Post order_to(std::string_view member, std::string_view text, std::string_view origin, const TeamView&,
                     EpochMs now_ms);

/// Why nothing is sent to this name: no member has it, or it is the lead's own. Empty: it is a worker.
std::optional<NotTaken> why_no_worker(std::string_view member, const TeamView&);

/// What this team's mailbox system has no words for. Empty: it has.
std::optional<NotTaken> why_not_carried(std::string_view what, const TeamView&);

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

/// Why no worker may hear of this rule of the team: "the deny rule …", which shares calls with it, and of which a
/// worker that took the rule over would never ask us again (adr 28). Empty: it may be told.
std::string why_not_shared(const std::string& rule, const TeamView&);

/// One order that went out, as the record has it: to the member who joined then.
struct Given {
  std::string_view member;
  long long joined_ms = 0;
  std::string_view kind;  // "mode" or "rule"
  std::string_view origin;
  bool operator==(const Given&) const = default;
};
/// A rule of the team that workers are told of; its origin tells it from one of the same words.
struct SharedRule {
  std::string origin;
  std::string rule;
};
/// What a worker of now has not been sent: its configured mode, or a rule.
struct Owed {
  std::string member;
  std::string origin;
  std::optional<config::PermissionMode> mode;
  std::size_t rule = 0;  // its index, where there is no mode
};
std::vector<Owed> owed_orders(const std::vector<Given>&, const std::vector<SharedRule>&, const TeamView&);

/// What became of a mode that was sent, going by what the roster shows.
enum class Adoption { waits, adopted, not_adopted };
Adoption adoption_of(std::string_view mode, EpochMs sent_ms, const schema::Member&, const config::ModeSettings&,
                     EpochMs now_ms);

}  // namespace inbox_poller::handlers
