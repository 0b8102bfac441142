// What we may do in a team: one total table over how we stand in it, drawn in a test and in docs/reference/protocol.md.
// How we stand is here and nowhere else: a configuration keeps what the operator wrote. Pure.
#pragma once

#include <string>
#include <string_view>

#include "config/config.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class EffectiveRole {
  leader,
  stopped,  // a leader that met another consumer, until `resume`
  front,
  observer,
  standby,    // may lead, and another host does
  satellite,  // the lead is on another host, for ever
};
BOOST_DESCRIBE_ENUM(EffectiveRole, leader, stopped, front, observer, standby, satellite)
inline std::string_view to_string(EffectiveRole stance) { return schema::name_of(stance); }
EffectiveRole stance_of(config::Role);

enum class Right {
  read_inbox,      // look into the lead's inbox and record what is new there
  take,            // be its consumer: chat, reports, shutdown answers; all of it is marked
  mark_answered,   // mark an ask that a rule answered
  answer_by_rule,  // the lead's asks and those of hooks alike
  answer,          // as a person said
  answer_by_time,  // give an ask a deadline, and deny it then
  decide_wish,     // whether a worker that wishes to stop is ended
  tell_lead,       // put an ask before the lead session
  ask_person,      // tell a person of one
  write,           // into workers' inboxes, and take locks
  keep_rules,      // of a session, for what we decide
  order,           // modes, rules, reminders
  shut_down,       // end workers, and take them out of the team
  mend_roster,     // put back one that a client left empty
  compact,         // the lead's inbox
  set_torn_aside,  // keep the bytes of a damaged inbox, and take in what is whole of it
  expect_nobody,   // take another consumer's signs as such
  notice_orders,   // report orders in the lead's name that are not ours
  watch_lead,      // report what it took, and how long that waited
  carry,           // mail between this host's boxes and other hosts
  end_here,        // workers of this host, as the leading host orders
};
inline constexpr int right_count = static_cast<int>(Right::end_here) + 1;
/// "read_inbox": the enumerator's name.
std::string_view to_string(Right);

/// The table. Total.
bool rights_of(EffectiveRole, Right);

/// What we do in a team now. Differs from the configured role after another consumer was met.
struct Membership {
  EffectiveRole stance = EffectiveRole::leader;
  std::string reason;  // why it is not as configured; empty when it is
  [[nodiscard]] bool may(Right right) const { return rights_of(stance, right); }
};

}  // namespace inbox_poller::handlers
