#include "poller/delivery/lead_activity.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "handlers/hook_proof.hpp"

namespace inbox_poller::poller {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes record_at_least{1};
constexpr std::chrono::hours longest_busy{24};

}  // namespace

Status LeadActivity::restore() {
  TRY(auto row, context_.ledger.leads().find(context_.name));
  if (!row) {
    row_.since_ms = context_.clock.wall_ms();
    return Done{};
  }
  row_ = *row;
  if (row_.state == LeadState::busy) {
    const auto left = milliseconds(row_.until_ms - context_.clock.wall_ms());
    // At most the recorded limit remains, whatever the clocks of then and now are.
    const auto limit = milliseconds(row_.until_ms - row_.since_ms);
    busy_until_ = context_.clock.steady() +
                  std::clamp<milliseconds>(left, milliseconds(0), std::min<milliseconds>(limit, longest_busy));
  }
  return Done{};
}

Status LeadActivity::report(LeadEvent event, std::optional<config::Duration> limit, const LeadSession* session) {
  const auto state = handlers::next(row_.state, event);
  const auto now = context_.clock.wall_ms();
  ++reports_;
  const bool presumed = event == LeadEvent::batch_pushed;
  // If no report of turns' ends is expected, a presumed state would only delay. A known state is never shortened.
  if (presumed && (state == row_.state || !tells_turns_now())) return Done{};
  if (state != row_.state) {
    untold_.push_back({row_.state, state, event});
    row_.since_ms = now;
  }
  const auto busy_for =
      limit.value_or(presumed ? context_.config.delivery.assume_busy_for : context_.config.delivery.busy_timeout);
  row_.state = state;
  row_.by = to_string(event);
  row_.until_ms = state == LeadState::busy ? now + busy_for.count() : 0;
  busy_until_.reset();
  if (state == LeadState::busy) busy_until_ = context_.clock.steady() + busy_for;
  // A session that the roster does not name is known from its start only, so it must outlast a crash.
  const bool is_other = session != nullptr && !session->id.empty() && session->id != row_.session;
  if (session != nullptr) {
    if (!session->id.empty()) row_.session = session->id;
    if (!session->pane.empty()) row_.pane = session->pane;
  }
  if (state == LeadState::offline) row_.session.clear();
  unrecorded_ = true;
  const bool in_words =
      event == LeadEvent::reports_busy || event == LeadEvent::reports_idle || event == LeadEvent::reports_offline;
  return in_words || is_other ? record() : Status(Done{});
}

/// True if the last report showed it, or a session reports to us.
bool LeadActivity::tells_turns_now() const {
  const auto event = schema::parse<LeadEvent>(row_.by);
  return !row_.session.empty() || (event && (tells_turns(*event) || *event == LeadEvent::batch_pushed));
}

void LeadActivity::run_due() {
  const auto now = context_.clock.steady();
  if (busy_until_ && *busy_until_ <= now) static_cast<void>(report(LeadEvent::busy_limit_passes));
  // A busy lead reports every tool use; that alone is not worth a write each tick.
  if (unrecorded_ && (!untold_.empty() || !recorded_at_ || now - *recorded_at_ > record_at_least))
    static_cast<void>(record());  // on failure the next tick retries
}

void LeadActivity::session_says(std::string_view status) {
  const bool was_its_word = row_.by == to_string(LeadEvent::session_works);
  if (status.empty() && !was_its_word) return;
  const auto event = handlers::said_by_file(status.empty() ? "idle" : status, row_.by, !row_.session.empty());
  if (event && row_.by != to_string(*event)) static_cast<void>(report(*event));
}

Status LeadActivity::record() {
  return context_.commit([&](Tx& tx) {
    for (const auto& change : untold_)
      tx.log(Event::lead_state, {{"team", context_.name},
                                 {"old", std::string(to_string(change.old))},
                                 {"new", std::string(to_string(change.now))},
                                 {"by", std::string(to_string(change.by))}});
    tx.keep(tx.ledger.leads().put(context_.name, row_));
    tx.then([this] {
      untold_.clear();
      unrecorded_ = false;
      recorded_at_ = context_.clock.steady();
    });
  });
}

}  // namespace inbox_poller::poller
