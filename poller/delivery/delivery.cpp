#include "poller/delivery/delivery.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "handlers/digest.hpp"
#include "poller/context/message_life.hpp"
#include "poller/delivery/batch.hpp"
#include "poller/delivery/waiting_taker.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::poller {
namespace {

using config::Way;
using std::chrono::milliseconds;

/// How long an effect of the same batch may hold chat back. A worker's inbox that stays blocked must not silence the
/// lead for good.
constexpr milliseconds effect_grace{30'000};
constexpr EpochMs never = std::numeric_limits<EpochMs>::min();  // before everything
constexpr std::chrono::minutes record_at_least{1};
constexpr std::chrono::hours longest_busy{24};
constexpr int expired_at_once = 1000;
constexpr int digest_limit = 20'000;

}  // namespace

Status Delivery::restore() {
  serve_anew();
  TRY(auto row, context_.ledger.leads().find(context_.name));
  if (!row) {
    row_.since_ms = context_.clock.wall_ms();
    return Done{};
  }
  row_ = *row;
  state_ = schema::parse<LeadState>(row_.state).value_or(LeadState::idle);
  if (state_ == LeadState::busy) {
    const auto left = milliseconds(row_.until_ms - context_.clock.wall_ms());
    // Not longer than was said then; nor than can be said, whatever the clocks of then and now are.
    const auto limit = std::max(context_.config.delivery.busy_limit, milliseconds(row_.until_ms - row_.since_ms));
    busy_until_ = context_.clock.steady() +
                  std::clamp<milliseconds>(left, milliseconds(0), std::min<milliseconds>(limit, longest_busy));
  }
  return Done{};
}

void Delivery::serve_anew() { serves_since_ = context_.clock.steady(); }

Status Delivery::report(LeadEvent event, std::optional<config::Duration> limit, const LeadSession* session) {
  const auto state = handlers::next(state_, event);
  const auto now = context_.clock.wall_ms();
  ++reports_;
  const bool presumed = event == LeadEvent::batch_pushed;
  // Without a word on when its turns end a presumption would only slow it down; and what is known is never shortened.
  if (presumed && (state == state_ || !tells_turns_now())) return Done{};
  if (state != state_) {
    untold_.push_back({state_, state, event});
    row_.since_ms = now;
  }
  const auto busy_for =
      limit.value_or(presumed ? context_.config.delivery.presumed_busy : context_.config.delivery.busy_limit);
  state_ = state;
  row_.state = to_string(state);
  row_.by = to_string(event);
  row_.until_ms = state == LeadState::busy ? now + busy_for.count() : 0;
  busy_until_.reset();
  if (state == LeadState::busy) busy_until_ = context_.clock.steady() + busy_for;
  if (session != nullptr) {
    if (!session->id.empty()) row_.session = session->id;
    if (!session->pane.empty()) row_.pane = session->pane;
  }
  if (state == LeadState::gone) row_.session.clear();
  unrecorded_ = true;
  const bool in_words =
      event == LeadEvent::reports_busy || event == LeadEvent::reports_idle || event == LeadEvent::reports_gone;
  return in_words ? record() : Status(Done{});
}

Status Delivery::record() {
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

void Delivery::settle() {
  const auto now = context_.clock.steady();
  if (busy_until_ && *busy_until_ <= now) static_cast<void>(report(LeadEvent::busy_limit_passes));
  // A busy lead says so with every tool it uses; that alone is not worth a write each tick.
  if (unrecorded_ && (!untold_.empty() || !recorded_at_ || now - *recorded_at_ > record_at_least))
    static_cast<void>(record());  // or next tick
  look_at_hooks();
  std::vector<long long> back;
  for (const auto& [id, lent] : lent_)
    if (lent.until && *lent.until <= now) back.push_back(id);
  take_back(back, "not acknowledged in time");
  expire_old();
}

void Delivery::expire_old() {
  const auto limit = context_.config.delivery.expire_after;
  if (!limit) return;
  const auto now = context_.clock.wall_ms();
  const auto old = context_.ledger.deliveries().queued_before(context_.name, now - limit->count(), expired_at_once);
  if (!old || old->empty()) return;
  static_cast<void>(context_.commit([&](Tx& tx) -> Status {
    std::vector<long long> ids;
    for (const auto& row : *old) {
      ids.push_back(row.id);
      auto fields = fields_of(context_, row.key, row.sender, row.sink);
      fields.emplace_back("reason", "undelivered for longer than delivery.expire_after");
      tx.log(Event::delivery_expired, std::move(fields));
    }
    return context_.ledger.deliveries().mark_expired(ids, now);
  }));
}

bool Delivery::is_attached(Way way) const {
  const auto found = attached_.find(way);
  return found != attached_.end() && found->second > 0;
}

WayState Delivery::state_of(Way way) const {
  handlers::WaySight sight;
  if (const auto waits = backoff_.find(way); waits != backoff_.end() && waits->second.until > context_.clock.steady())
    sight.failed = waits->second.why;
  sight.held = is_attached(way);
  sight.heard_session = !row_.session.empty();
  sight.lead = state_;
  if (way == Way::tmux) sight.no_pane = tmux_.unavailable(row_.pane);
  return handlers::state_of(way, sight, context_.config.delivery);
}

std::vector<WayState> Delivery::ladder() const {
  std::vector<WayState> states;
  for (const auto way : context_.config.delivery.via) states.push_back(state_of(way));
  return states;
}

/// Its last word showed it, or it has a session that we hear of.
bool Delivery::tells_turns_now() const {
  const auto event = schema::parse<LeadEvent>(row_.by);
  return !row_.session.empty() || (event && (tells_turns(*event) || *event == LeadEvent::batch_pushed));
}

std::optional<DeliveryTable::Overdue> Delivery::overdue_only(bool even_busy) const {
  if (is_open(state_) || even_busy) return std::nullopt;
  const auto now = context_.clock.wall_ms();
  const auto moment = [&](const std::optional<config::Duration>& wait) { return wait ? now - wait->count() : never; };
  const auto& delivery = context_.config.delivery;
  if (state_ == LeadState::gone) return DeliveryTable::Overdue{never, never};
  const auto urgent = delivery.urgent_max_wait ? delivery.urgent_max_wait : delivery.max_wait;
  return DeliveryTable::Overdue{moment(delivery.max_wait), moment(urgent)};
}

Result<Delivery::Offerable> Delivery::offerable(const Take& take) const {
  const auto overdue = overdue_only(take.even_busy);
  if (overdue && overdue->chat_before_ms == never && overdue->urgent_before_ms == never) return Offerable();
  const bool waits_anew = context_.clock.steady() - serves_since_ < effect_grace;
  TRY(auto rows, context_.ledger.deliveries().offerable(context_.name, context_.clock.wall_ms() - effect_grace.count(),
                                        static_cast<int>(std::min<std::size_t>(take.max, 1000)), overdue,
                                        waits_anew ? DeliveryTable::Owed::of_any_age : DeliveryTable::Owed::of_late));
  const bool digest_due = !overdue && rows.size() < take.max && is_digest_due(!rows.empty());
  return Offerable{std::move(rows), digest_due};
}

Result<std::vector<Offered>> Delivery::offer(const Take& take, const std::vector<std::string>& taken) {
  std::vector<Offered> messages;
  const bool its_turn = is_turn_of(take);
  if (taken.empty()) {  // and then most often there is nothing to commit
    if (!its_turn) return messages;
    TRY(auto found, offerable(take));
    if (found.rows.empty() && !found.digest_due) return messages;
    TRY(context_.commit([&](Tx& tx) {
      tx.then([&] { note_lent(messages, take); });
      return lend_out(std::move(found), take, tx, messages);
    }));
    return messages;
  }
  Status offered = Done{};
  const auto hand_over = [&](Tx& tx) -> Status {
    TRY(const auto delivered, note_taken(taken, Confirmation::acknowledged, {}, tx));
    if (its_turn) offered = lend_apart(take, tx, messages);
    if (!messages.empty()) tx.then([&] { note_lent(messages, take); });
    return Done{};
  };
  TRY(context_.commit(hand_over, CommitAs::fact));
  if (!offered) return offered.error();
  return messages;
}

Status Delivery::lend_apart(const Take& take, Tx& tx, std::vector<Offered>& messages) {
  const auto lend = [&](Tx& part) -> Status {
    TRY(auto found, offerable(take));
    if (found.rows.empty() && !found.digest_due) return Done{};
    return lend_out(std::move(found), take, part, messages);
  };
  auto lent = tx.attempt(lend, CommitAs::decision);
  if (!lent) messages.clear();
  return lent;
}

void Delivery::lend_on_arrival(Tx& tx) {
  const auto first = std::find_if(waiting_.begin(), waiting_.end(), [&](const WaitingTaker* taker) {
    return taker->lent_.empty() && is_turn_of(taker->take_);
  });
  if (first == waiting_.end()) return;
  WaitingTaker& taker = **first;
  std::vector<Offered> messages;
  const auto lent = lend_apart(taker.take_, tx, messages);
  if (!lent || messages.empty()) return;  // of a failure they hear when they ask themselves
  tx.then([this, &taker, messages = std::move(messages)]() mutable {
    note_lent(messages, taker.take_);
    taker.lent_ = std::move(messages);
  });
}

Status Delivery::lend_out(Offerable found, const Take& take, Tx& tx, std::vector<Offered>& messages) {
  if (found.digest_due) {
    TRY(auto summed, digest(tx));
    if (summed) found.rows.push_back(std::move(*summed));
  }
  for (auto& row : found.rows) {
    ++row.attempts;  // this offer
    row.sink = take.sink;
    auto fields = offered_fields(row);
    messages.push_back(outgoing(std::move(row), context_.roster, context_.config.limits.message));
    if (take.most_text && messages.size() > 1 && block(messages).size() > *take.most_text) {
      messages.pop_back();
      break;
    }
    tx.log_told_by_row(Event::delivery_offered, std::move(fields));
  }
  return context_.ledger.deliveries().mark_offered(ids_of(messages), take.sink, context_.clock.wall_ms());
}

void Delivery::note_lent(const std::vector<Offered>& messages, const Take& take) {
  std::optional<SteadyTime> until;
  if (take.lease) until = context_.clock.steady() + *take.lease;
  forget_loans(ids_of(messages));
  for (const auto& message : messages) {
    const Loan loan{++handed_out_, message.key.value, message.from, message.received_ms, take.sink, until};
    const auto at = lent_.emplace_hint(lent_.end(), message.id, loan);
    lent_keys_.emplace(at->second.key, message.id);
  }
  pointed_.reset();  // somebody read; what comes next is worth a line of its own
  if (handlers::is_pushed(take.way) && !take.by_hand) return;  // whether it goes that way is not known yet
  if (!take.by_hand) tell_fall(take.way);
  last_sink_ = take.sink;
}

bool Delivery::is_digest_due(bool taken_along) const {
  // Whatever delivery.idle says now: what was put aside for a digest is owed.
  const auto oldest = context_.ledger.deliveries().digest_material(context_.name, 1);
  if (!oldest || oldest->empty()) return false;
  const auto waited = context_.clock.wall_ms() - oldest->front().received_ms;
  // From the future: recorded before the clock was put back while we were down.
  return taken_along || waited < 0 || waited >= context_.config.delivery.digest_after.count();
}

Result<std::optional<MessageRow>> Delivery::digest(Tx& tx) {
  TRY(const auto material, context_.ledger.deliveries().digest_material(context_.name, digest_limit));
  if (material.empty()) return std::optional<MessageRow>();
  std::vector<handlers::DigestItem> items;
  std::vector<long long> ids;
  for (const auto& row : material) {
    ids.push_back(row.id);
    items.push_back({row.sender, row.received_ms, schema::decode_payload(row.message.text)});
  }
  const auto now = context_.clock.wall_ms();
  TRY(context_.ledger.deliveries().mark_offered(ids, "digest", now));
  TRY(context_.ledger.deliveries().mark_delivered(ids, now, Confirmation::none));
  LeadNotice word;
  word.notice =
      handlers::notice_of(handlers::digest_text(items), {"digest", material.back().key.value}, context_.view(), now);
  word.type = "digest";
  TRY(auto told, tx.notify_lead(word));
  return std::optional(std::move(told));
}

void Delivery::tell_fall(Way way) {
  if (last_way_ == way) return;
  std::string reason;
  for (const auto& state : ladder()) {
    if (state.way == way) break;
    reason += (reason.empty() ? "" : "; ") + std::string(config::to_string(state.way)) + ": " + state.reason;
  }
  context_.telemetry.emit(Event::delivery_rung,
                          {{"team", context_.name},
                           {"old", last_way_ ? std::string(config::to_string(*last_way_)) : "none"},
                           {"new", std::string(config::to_string(way))},
                           {"reason", reason.empty() ? "the first of delivery.via" : reason}});
  last_way_ = way;
}

void Delivery::failed(Way way, const Error& why) {
  auto& backoff = backoff_[way];
  // A file is looked at for next to nothing, a terminal for little: what is in the way there goes by itself.
  backoff.failures = std::min(backoff.failures + 1, way == Way::file ? 1 : way == Way::tmux ? 3 : 6);
  backoff.until = context_.clock.steady() + milliseconds(500LL << backoff.failures);
  if (backoff.why != why.message)  // the same again is no news
    context_.telemetry.emit(
        Event::delivery_failed,
        {{"team", context_.name}, {"sink", std::string(config::to_string(way))}, {"reason", why.message}});
  backoff.why = why.message;
}

}  // namespace inbox_poller::poller
