#include "poller/team/orders.hpp"

#include <algorithm>
#include <utility>

namespace inbox_poller::poller {

using handlers::OrderKind;
using handlers::OrderState;

namespace {

std::string origin_of(const SessionRule& rule) { return "rule " + std::to_string(rule.id); }

bool waits_for_adoption(const OrderRow& row) {
  return row.kind == OrderKind::mode && (row.state == OrderState::sent || row.state == OrderState::not_applied);
}

}  // namespace

Status Orders::restore() {
  TRY(auto rows, context_.ledger.orders().of_team(context_.name));
  rows_ = std::move(rows);
  return Done{};
}

Result<std::vector<OrderRow>> Orders::set_mode(const std::vector<std::string>& members, config::PermissionMode mode,
                                               const std::string& by) {
  for (const auto& member : members)  // all or none: reject before anything is started
    TRY(mode_draft(member, mode, "", by));
  std::vector<OrderRow> sent;
  TRY(commit([&](Tx& tx) -> Status {
    TRY(const auto batch, tx.ledger.next_batch());
    std::vector<Draft> drafts;
    for (const auto& member : members) {
      TRY(auto draft, mode_draft(member, mode, "command " + std::to_string(batch), by));
      sent.push_back(draft.row);
      drafts.push_back(std::move(draft));
    }
    return send(drafts, batch, tx);
  }));
  return sent;
}

Result<Orders::Allowed> Orders::allow(const std::string& rule, const std::string& directory, const std::string& by,
                                      Audience audience) {
  TRY(const auto meant, handlers::team_rule(rule, directory));
  Allowed allowed;
  allowed.rule = {
      0,  context_.name,           context_.roster.lead_session_id, handlers::RuleKind::team, "allow", meant.text,
      by, context_.clock.wall_ms()};
  allowed.not_told = why_not_told(meant.text);
  if (context_.rules.has(allowed.rule)) {
    allowed.is_new = false;
    return allowed;
  }
  TRY(commit([&](Tx& tx) -> Status {
    TRY(const auto id, tx.ledger.rules().add(allowed.rule));
    allowed.rule.id = id;
    tx.then([&] { context_.rules.apply(allowed.rule); });
    tx.log(Event::rule_added, {{"team", context_.name},
                               {"type", "team"},
                               {"action", "allow"},
                               {"rule", meant.text},
                               {"by", by},
                               {"reason", allowed.not_told.empty() ? "" : "not told: " + allowed.not_told}});
    if (audience == Audience::us || !allowed.not_told.empty()) return Done{};
    TRY(const auto batch, tx.ledger.next_batch());
    std::vector<Draft> drafts;
    for (const auto& member : context_.roster.members) {
      if (member.name == context_.lead) continue;
      TRY(auto draft, rule_draft(member.name, allowed.rule));
      allowed.told.push_back(member.name);
      drafts.push_back(std::move(draft));
    }
    return send(drafts, batch, tx);
  }));
  return allowed;
}

Result<SessionRule> Orders::revoke(const std::string& rule, const std::string& by) {
  auto found = context_.rules.of_session();
  std::erase_if(found, [&](const SessionRule& other) { return other.rule != rule; });
  if (found.empty())
    return Error{"rule.unknown", "this session has no rule \"" + rule +
                                     "\"; `inbox-poller rules` shows those it has, and rules that stand in " +
                                     context_.config.source + " are taken back there"};
  // Put the rule first that was sent to workers, because the caller must report about it.
  std::stable_partition(found.begin(), found.end(),
                        [](const SessionRule& one) { return one.kind == handlers::RuleKind::team; });
  TRY(context_.commit([&](Tx& tx) {
    for (const auto& one : found) {
      tx.log(Event::rule_removed, {{"team", context_.name},
                                   {"type", std::string(to_string(one.kind))},
                                   {"action", one.action},
                                   {"rule", one.rule},
                                   {"by", by}});
      tx.keep(tx.ledger.rules().remove(one.id));
      tx.then([&] { context_.rules.drop(one.id); });
    }
  }));
  return found.front();
}

void Orders::run_due(bool is_roster_whole) {
  // The commit reports a fault, and the next tick retries. Applied settings come first, because new ones supersede the
  // rest.
  const EpochMs now = is_roster_whole ? context_.clock.wall_ms() : 0;  // then no time limit has passed
  if (const auto changes = seen(now); !changes.empty())
    static_cast<void>(commit([&](Tx& tx) { return change(changes, tx); }));
  if (const auto drafts = lacking(); !drafts.empty())
    static_cast<void>(commit([&](Tx& tx) -> Status {
      TRY(const auto batch, tx.ledger.next_batch());
      return send(drafts, batch, tx);
    }));
}

std::string Orders::why_not_told(const std::string& rule) const {
  return handlers::why_not_shared(rule, context_.view());
}

std::vector<std::string> Orders::told(long long rule_id) const {
  std::vector<std::string> names;
  SessionRule rule;
  rule.id = rule_id;
  for (const auto& member : context_.roster.members)
    if (was_given(member, OrderKind::rule, origin_of(rule))) names.push_back(member.name);
  return names;
}

std::vector<OrderRow> Orders::not_applied() const {
  std::vector<OrderRow> rows;
  for (const auto& row : rows_) {
    const auto* member = context_.roster.find(row.member);
    if (row.state == OrderState::not_applied && member != nullptr && is_about(row, *member)) rows.push_back(row);
  }
  return rows;
}

bool Orders::is_about(const OrderRow& row, const schema::Member& member) const {
  return row.member == member.name && row.joined_ms == member.joined_at_ms;
}

bool Orders::was_given(const schema::Member& member, OrderKind kind, std::string_view origin) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const OrderRow& row) {
    return is_about(row, member) && row.kind == kind && row.origin == origin;
  });
}

OrderRow Orders::row_for(const std::string& member) const {
  OrderRow row;
  row.team = context_.name;
  row.member = member;
  if (const auto* found = context_.roster.find(member)) row.joined_ms = found->joined_at_ms;
  row.sent_ms = context_.clock.wall_ms();
  row.state_ms = row.sent_ms;
  return row;
}

Result<Orders::Draft> Orders::mode_draft(const std::string& member, config::PermissionMode mode,
                                           const std::string& origin, const std::string& by) const {
  Draft draft{row_for(member), {}};
  draft.row.kind = OrderKind::mode;
  draft.row.subject = config::to_string(mode);
  draft.row.origin = origin;
  draft.row.by = by;
  auto post = handlers::set_mode(member, mode, origin, context_.view(), draft.row.sent_ms);
  if (const auto* refused = std::get_if<handlers::NotTaken>(&post)) return error_of(*refused);
  draft.post = std::get<handlers::Post>(std::move(post));
  draft.row.key = draft.post.key;
  return draft;
}

Result<Orders::Draft> Orders::rule_draft(const std::string& member, const SessionRule& rule) const {
  TRY(const auto parsed, config::parse_permission_rule(rule.rule));
  Draft draft{row_for(member), {}};
  draft.row.kind = OrderKind::rule;
  draft.row.subject = rule.rule;
  draft.row.origin = origin_of(rule);
  draft.row.by = rule.by;
  auto post = handlers::share_rule(member, parsed, draft.row.origin, context_.view(), draft.row.sent_ms);
  if (const auto* refused = std::get_if<handlers::NotTaken>(&post)) return error_of(*refused);
  draft.post = std::get<handlers::Post>(std::move(post));
  draft.row.key = draft.post.key;
  return draft;
}

std::vector<Orders::Draft> Orders::lacking() const {
  std::vector<handlers::Given> given;
  for (const auto& row : rows_) given.push_back({row.member, row.joined_ms, row.kind, row.origin});
  auto rules = context_.rules.of_session();
  std::erase_if(rules, [](const SessionRule& rule) { return rule.kind != handlers::RuleKind::team; });
  std::vector<handlers::SharedRule> shared;
  for (const auto& rule : rules) shared.push_back({origin_of(rule), rule.rule});
  std::vector<Draft> drafts;
  for (const auto& owed : handlers::owed_orders(given, shared, context_.view())) {
    auto draft = owed.mode ? mode_draft(owed.member, *owed.mode, owed.origin, "config")
                            : rule_draft(owed.member, rules[owed.rule]);
    // Neither can be rejected here: the configuration was checked against its ceiling, the rule when it was added.
    if (draft) drafts.push_back(*std::move(draft));
  }
  return drafts;
}

std::vector<Orders::Change> Orders::seen(EpochMs now) const {
  std::vector<Change> changes;
  for (const auto& row : rows_) {
    const auto* member = context_.roster.find(row.member);
    if (!waits_for_adoption(row) || member == nullptr || !is_about(row, *member)) continue;
    const auto adoption = handlers::adoption_of(row.subject, row.sent_ms, *member, context_.config.modes, now);
    if (adoption == handlers::Adoption::applied) changes.push_back({row, OrderState::applied});
    if (adoption == handlers::Adoption::not_applied && row.state == OrderState::sent) changes.push_back({row, OrderState::not_applied});
  }
  return changes;
}

Status Orders::change(const std::vector<Change>& changes, Tx& tx) {
  for (const auto& [row, state] : changes) {
    TRY(tx.ledger.orders().set(row.id, state, context_.clock.wall_ms()));
    if (state == OrderState::applied)
      tx.log(Event::setting_applied, {{"team", context_.name}, {"member", row.member}, {"value", row.subject}});
    if (state == OrderState::not_applied)
      tx.log(Event::setting_not_applied,
             {{"team", context_.name},
              {"member", row.member},
              {"value", row.subject},
              {"reason",
               "the roster does not show the mode that was sent; the newest clients ignore such a message: "
               "set it in the worker's own session, or start the worker with it"}});
  }
  return Done{};
}

Status Orders::send(const std::vector<Draft>& drafts, long long batch, Tx& tx) {
  for (const auto& [row, entry] : drafts) {
    std::vector<Change> superseded;
    for (const auto& older : rows_)
      if (row.kind == OrderKind::mode && waits_for_adoption(older) && older.member == row.member)
        superseded.push_back({older, OrderState::superseded});
    TRY(change(superseded, tx));
    TRY(const auto added, tx.ledger.orders().add(row));
    if (!added) continue;  // already known
    tx.post({entry}, "", batch);
    tx.log(Event::setting_sent, {{"team", context_.name},
                               {"message_key", entry.key.value},
                               {"member", row.member},
                               {"type", std::string(to_string(row.kind))},
                               {"value", row.subject},
                               {"by", row.by}});
  }
  return Done{};
}

Status Orders::commit(const Work& work) {
  return context_.commit([&](Tx& tx) -> Status {
    TRY(work(tx));
    TRY(auto rows, tx.ledger.orders().of_team(context_.name));
    tx.then([this, rows = std::move(rows)]() mutable { rows_ = std::move(rows); });
    return Done{};
  });
}

}  // namespace inbox_poller::poller
