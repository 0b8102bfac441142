// The rights of InboxPoller in a team: one total table over its effective role, drawn in a test and in
// docs/reference/protocol.md. The configuration keeps the operator's choice; the effective role is here only. Pure.
#pragma once

#include <string>
#include <string_view>

#include "config/config.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class EffectiveRole {
  leader,
  paused,  // a leader next to a competing consumer, until `resume`
  interceptor,
  observer,
  standby,    // may lead, but another node does
  follower,  // the lead is always on another node
};
BOOST_DESCRIBE_ENUM(EffectiveRole, leader, paused, interceptor, observer, standby, follower)
inline std::string_view to_string(EffectiveRole role) { return schema::name_of(role); }
EffectiveRole effective_role(config::Role);

enum class Right {
  read_inbox,      // scan the lead's inbox and record new messages
  take,            // consume the inbox: chat, reports, shutdown answers; all of it is marked
  mark_answered,   // mark a request that a rule answered
  answer_by_rule,  // requests of the lead and of hooks alike
  answer,          // as a person decided
  answer_by_time,  // set a deadline for a request, and deny it then
  decide_wish,     // whether a worker that asks to stop is ended
  notify_lead,     // put a request before the lead session
  ask_person,      // notify a person of a request
  write,           // into workers' inboxes, and take locks
  keep_rules,      // of a session
  order,           // modes, rules, reminders
  shut_down,       // end workers and remove them from the team
  mend_roster,     // restore a roster that a client left empty
  compact,         // the lead's inbox
  set_torn_aside,  // keep the bytes of a damaged inbox, and recover its whole entries
  expect_nobody,   // treat another reader's signs as a competing consumer
  notice_orders,   // report orders in the lead's name that InboxPoller did not write
  watch_lead,      // report which messages it read, and after what time
  carry,           // mail between this node's inboxes and other nodes
  end_here,        // workers of this node, as the leader node orders
};
inline constexpr int right_count = static_cast<int>(Right::end_here) + 1;
/// Returns the enumerator's name, such as "read_inbox".
std::string_view to_string(Right);

/// Returns a cell of the table. Total.
bool rights_of(EffectiveRole, Right);

/// The present role in a team. Differs from the configured role next to a competing consumer.
struct Membership {
  EffectiveRole role = EffectiveRole::leader;
  std::string reason;  // why it is not as configured; empty if it is
  [[nodiscard]] bool may(Right right) const { return rights_of(role, right); }
};

}  // namespace inbox_poller::handlers
