#include "handlers/rights.hpp"

#include <array>

namespace inbox_poller::handlers {
namespace {

struct RightRow {
  Right right;
  std::string_view name;
  std::array<bool, 6> cells;  // leader, paused, interceptor, observer, standby, follower
};

constexpr bool x = true, o = false;
constexpr std::array<RightRow, right_count> table{{
    {Right::read_inbox, "read_inbox", {x, o, x, x, o, o}},
    {Right::take, "take", {x, o, o, o, o, o}},
    {Right::mark_answered, "mark_answered", {x, o, x, o, o, o}},
    {Right::answer_by_rule, "answer_by_rule", {x, o, x, o, o, o}},
    {Right::answer, "answer", {x, x, x, o, o, o}},
    {Right::answer_by_time, "answer_by_time", {x, o, o, o, o, o}},
    {Right::decide_wish, "decide_wish", {x, x, o, o, o, o}},
    {Right::notify_lead, "notify_lead", {x, x, o, o, o, o}},
    {Right::ask_person, "ask_person", {x, x, x, o, o, o}},
    {Right::write, "write", {x, x, x, o, o, o}},
    {Right::keep_rules, "keep_rules", {x, o, x, o, o, o}},
    {Right::order, "order", {x, o, o, o, o, o}},
    {Right::shut_down, "shut_down", {x, o, o, o, o, o}},
    {Right::mend_roster, "mend_roster", {x, o, o, o, o, o}},
    {Right::compact, "compact", {x, o, o, o, o, o}},
    {Right::set_torn_aside, "set_torn_aside", {x, o, o, o, o, o}},
    {Right::expect_nobody, "expect_nobody", {x, o, o, o, o, o}},
    {Right::notice_orders, "notice_orders", {x, x, o, o, o, o}},
    {Right::watch_lead, "watch_lead", {o, o, x, x, o, o}},
    {Right::carry, "carry", {x, o, o, o, x, x}},
    {Right::end_here, "end_here", {o, o, o, o, x, x}},
}};

constexpr bool rights_are_in_order() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].right != static_cast<Right>(i)) return false;
  return true;
}
static_assert(rights_are_in_order(), "a line for each right, in the order of the enumerators");

const RightRow& row_of(Right right) { return table.at(static_cast<std::size_t>(right)); }

}  // namespace

EffectiveRole effective_role(config::Role role) {
  switch (role) {
    case config::Role::leader: return EffectiveRole::leader;
    case config::Role::interceptor: return EffectiveRole::interceptor;
    case config::Role::follower: return EffectiveRole::follower;
    case config::Role::observer: break;
  }
  return EffectiveRole::observer;
}

std::string_view to_string(Right right) { return row_of(right).name; }

bool rights_of(EffectiveRole role, Right right) { return row_of(right).cells.at(static_cast<std::size_t>(role)); }

}  // namespace inbox_poller::handlers
