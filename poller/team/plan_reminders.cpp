#include "poller/team/plan_reminders.hpp"

#include <algorithm>
#include <utility>

#include "handlers/plan_approval.hpp"

namespace inbox_poller::poller {
namespace {

constexpr EpochMs looks_back_ms = 600'000;
constexpr int most_at_once = 100;

}  // namespace

void PlanReminders::run_due() {
  if (look_.take(context_.clock.steady())) none_decided_.check(context_.ledger.changes(), [&] { return remind_due(); });
}

bool PlanReminders::remind_due() {
  const auto now = context_.clock.wall_ms();
  const auto decisions = context_.ledger.requests().decisions(context_.name, now - looks_back_ms, most_at_once);
  if (!decisions) return false;  // a failing ledger is reported elsewhere
  for (const auto& [team, request] : *decisions) {
    const auto due = handlers::plan_reminder_due(request);
    if (due != 0 && now >= due && context_.roster.find(request.asker) != nullptr && is_silent(request)) remind(request);
  }
  return decisions->empty();
}

bool PlanReminders::is_silent(const handlers::Request& approved) const {
  const auto written = context_.ledger.outbox().of_request(context_.name, schema::inbox_name(approved.asker), approved.request_id);
  const auto said =
      context_.ledger.messages().latest({context_.name, approved.asker, {}, approved.decided_ms}, most_at_once);
  const auto member = context_.members.find(approved.asker);
  if (!written || !said || member == context_.members.end()) return false;
  handlers::SincePlan since;
  since.state = member->second.state;
  since.last_seen_ms = member->second.last_seen_ms;
  since.shows_going_on = std::any_of(said->begin(), said->end(), [&](const MessageRow& row) {
    return row.request_id != approved.request_id && handlers::shows_going_on(approved, row.type, row.received_ms);
  });
  since.has_answer = !written->empty() && std::all_of(written->begin(), written->end(), [](const OutboxRow& row) {
    return row.state == EffectState::done;
  });
  const auto reminder = handlers::plan_reminder(approved, context_.view());
  since.was_reminded = std::any_of(written->begin(), written->end(),
                                   [&](const OutboxRow& row) { return row.key == reminder.key; });
  return handlers::is_silent_since(approved, since);
}

void PlanReminders::remind(const handlers::Request& approved) {
  static_cast<void>(context_.commit([&](Tx& tx) -> Status {
    TRY(const auto batch, tx.ledger.next_batch());
    tx.log(Event::request_reminded,
           {{"team", context_.name}, {"request_id", approved.request_id}, {"from", approved.asker}});
    tx.post({handlers::plan_reminder(approved, context_.view())}, approved.request_id, batch);
    return Done{};
  }));
}

}  // namespace inbox_poller::poller
