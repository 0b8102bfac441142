// Messages of the lead's side to workers that are not answers: modes and permission rules. Pure. Source:
// docs/reference/wire.md W22.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/rules.hpp"
#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// Returns a message from the lead for the member's inbox. `origin`: the cause, which tells two orders with the same
/// text apart. The same origin gives the same message apart from its time.
Post order_to(std::string_view member, std::string_view text, std::string_view origin, const TeamView&,
                     EpochMs now_ms);

/// Returns why an order to this name is not sent: no member has it, or it is the lead's own. Empty: it is a worker's.
std::optional<NotTaken> why_no_worker(std::string_view member, const TeamView&);

/// Returns why this team's mailbox system cannot carry `what`; empty if it can.
std::optional<NotTaken> why_not_carried(std::string_view what, const TeamView&);

/// Returns a mode_set_request, or why not: above modes.ceiling, unknown member, the lead itself.
std::variant<Post, NotTaken> set_mode(std::string_view member, config::PermissionMode, std::string_view origin,
                                             const TeamView&, EpochMs now_ms);

/// Returns the rule for paths below a directory: "Edit" and "/repo" give "Edit(//repo/**)". Errors: "rule.…" if the
/// rule has a specifier or its tool takes no paths, if the directory is not absolute, or if the rule never allows
/// anything.
Result<config::PermissionRule> team_rule(std::string_view rule, std::string_view directory);

/// Returns a team_permission_update that adds the rule to the worker's session. Each rule has its toolName, without
/// which an old client stops.
std::variant<Post, NotTaken> share_rule(std::string_view member, const config::PermissionRule&,
                                               std::string_view origin, const TeamView&, EpochMs now_ms);

/// Returns why no worker may get this rule of the team: "the deny rule …" that covers some of the same calls. A worker
/// with the rule would never ask about those calls again (adr 28). Empty: it may be sent.
std::string why_not_shared(const std::string& rule, const TeamView&);

enum class OrderKind { mode, rule };
BOOST_DESCRIBE_ENUM(OrderKind, mode, rule)
inline std::string_view to_string(OrderKind kind) { return schema::name_of(kind); }

enum class OrderState {
  sent,
  applied,      // a mode that the roster shows
  not_applied,  // a mode that the roster does not show after modes.apply_timeout
  superseded,   // a later mode was sent to the same worker
};
BOOST_DESCRIBE_ENUM(OrderState, sent, applied, not_applied, superseded)
inline std::string_view to_string(OrderState state) { return schema::name_of(state); }

/// One sent order, as recorded: to the member of this name and join time.
struct Given {
  std::string_view member;
  long long joined_ms = 0;
  OrderKind kind = OrderKind::mode;
  std::string_view origin;
  bool operator==(const Given&) const = default;
};
/// A rule of the team that is sent to workers; `origin` tells rules with the same text apart.
struct SharedRule {
  std::string origin;
  std::string rule;
};
/// An order that a present worker has not been sent: its configured mode, or a rule.
struct Owed {
  std::string member;
  std::string origin;
  std::optional<config::PermissionMode> mode;
  std::size_t rule = 0;  // index of the rule, if there is no mode
};
std::vector<Owed> owed_orders(const std::vector<Given>&, const std::vector<SharedRule>&, const TeamView&);

/// The state of a sent mode, according to the roster.
enum class Adoption { waits, applied, not_applied };
Adoption adoption_of(std::string_view mode, EpochMs sent_ms, const schema::Member&, const config::ModeSettings&,
                     EpochMs now_ms);

}  // namespace inbox_poller::handlers
