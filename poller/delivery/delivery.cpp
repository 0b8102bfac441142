#include "poller/delivery/delivery.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "handlers/digest.hpp"
#include "handlers/unsent_report.hpp"
#include "poller/context/message_life.hpp"
#include "poller/delivery/batch.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::poller {
namespace {

using std::chrono::milliseconds;

/// Limit for a pending reply of the same batch to hold back chat. A worker's blocked inbox must not silence the lead
/// for good.
constexpr milliseconds effect_grace{30'000};
/// Limit for a message that cannot be requeued to hold back its sender. A full disk may last, but a damaged row must
/// not silence a worker for good.
constexpr milliseconds requeue_grace{600'000};
constexpr EpochMs never = std::numeric_limits<EpochMs>::min();  // before every other time
constexpr int expired_at_once = 1000;
constexpr int digest_limit = 20'000;
constexpr std::size_t most_bytes_at_once = std::size_t{1} << 20;  // of texts: an answer has each twice, escaped

/// Removes the later messages of more than one answer has room for, and never the first.
void keep_what_fits(std::vector<MessageRow>& rows) {
  std::size_t bytes = 0;
  const auto fits = [&](const MessageRow& row) { return (bytes += row.message.text.size()) <= most_bytes_at_once; };
  const auto end = std::ranges::find_if_not(rows, fits);
  rows.erase(end == rows.begin() && end != rows.end() ? end + 1 : end, rows.end());
}

}  // namespace

Status Delivery::restore() {
  serve_anew();
  return lead_.restore();
}

void Delivery::serve_anew() { serves_since_ = context_.clock.steady(); }

void Delivery::run_due() {
  const auto now = context_.clock.steady();
  lead_.run_due();
  look_at_hooks();
  end_leases(leases_.due(now), "not acknowledged in time");
  expire_old();
}

void Delivery::expire_old() {
  const auto limit = context_.config.delivery.expire_after;
  if (!limit) return;
  const auto now = context_.clock.wall_ms();
  const auto old = context_.ledger.deliveries().queued(context_.name, expired_at_once, now - limit->count());
  if (!old || old->empty()) return;
  static_cast<void>(context_.commit([&](Tx& tx) -> Status {
    std::vector<long long> ids;
    for (const auto& row : *old) {
      ids.push_back(row.id);
      auto fields = fields_of(context_, row.key, row.sender, row.method);
      fields.emplace_back("reason", "undelivered for longer than delivery.expire_after");
      tx.log(Event::delivery_expired, std::move(fields));
    }
    return tx.ledger.deliveries().mark_expired(ids, now);
  }));
}

std::optional<DeliveryTable::Overdue> Delivery::overdue_only(bool ignore_busy) const {
  if (is_open(lead_.state()) || ignore_busy) return std::nullopt;
  const auto now = context_.clock.wall_ms();
  const auto moment = [&](const std::optional<config::Duration>& wait) { return wait ? now - wait->count() : never; };
  const auto& delivery = context_.config.delivery;
  if (lead_.state() == LeadState::offline) return DeliveryTable::Overdue{never, never};
  const auto urgent = delivery.urgent_max_delay ? delivery.urgent_max_delay : delivery.max_delay;
  return DeliveryTable::Overdue{moment(delivery.max_delay), moment(urgent)};
}

Result<Delivery::ReadyMessages> Delivery::ready_messages(const FetchOptions& fetch) const {
  // A standby node keeps its chat for the node that will lead: the later messages of the same workers go there.
  if (context_.may(handlers::Right::carry) && !context_.may(handlers::Right::notify_lead)) return ReadyMessages();
  const auto overdue = overdue_only(fetch.ignore_busy);
  if (overdue && overdue->chat_before_ms == never && overdue->urgent_before_ms == never) return ReadyMessages();
  const auto now = context_.clock.steady();
  const bool waits_anew = now - serves_since_ < effect_grace;
  TRY(auto rows, context_.ledger.deliveries().ready_messages(
                     context_.name, context_.clock.wall_ms() - effect_grace.count(),
                     static_cast<int>(std::min<std::size_t>(fetch.max, 1000)), overdue,
                     waits_anew ? DeliveryTable::Owed::of_any_age : DeliveryTable::Owed::of_late));
  // What run_due() requeues, perhaps once more after a ledger fault, goes before newer chat of its senders.
  auto owed = leases_.due_senders(now - requeue_grace, now);
  // What was printed to wake a session may wait there for the end of a turn, which newer chat would come into.
  for (const auto* offer : hooks_.offers())
    if (offer->hook == handlers::OfferingHook::wait)
      for (const auto& one : offer->messages)
        if (leases_.has(one.id)) owed.insert(one.from);
  std::erase_if(rows, [&](const MessageRow& row) { return owed.contains(row.sender); });
  keep_what_fits(rows);
  const bool digest_due = !overdue && rows.size() < fetch.max && is_digest_due(!rows.empty());
  return ReadyMessages{std::move(rows), digest_due};
}

Result<std::vector<LeasedMessage>> Delivery::offer(const FetchOptions& fetch, const std::vector<std::string>& taken) {
  std::vector<LeasedMessage> messages;
  const bool its_turn = is_turn_of(fetch);
  if (taken.empty()) {  // and most often nothing is to be committed
    if (!its_turn) return messages;
    TRY(auto found, ready_messages(fetch));
    if (found.rows.empty() && !found.digest_due) return fetch.by_hand ? (pointed_.reset(), messages) : messages;
    TRY(context_.commit([&](Tx& tx) {
      tx.then([&] { log_leases(messages, fetch); });
      return lease_available(std::move(found), fetch, tx, messages);
    }));
    return messages;
  }
  Status offered = Done{};
  const auto hand_over = [&](Tx& tx) -> Status {
    TRY(const auto delivered, note_taken(taken, Confirmation::acknowledged, {}, tx));
    if (its_turn) offered = lease_separately(fetch, tx, messages);
    if (!messages.empty()) tx.then([&] { log_leases(messages, fetch); });
    return Done{};
  };
  TRY(context_.commit(hand_over, CommitAs::fact));
  if (!offered) return offered.error();
  return messages;
}

Status Delivery::lease_separately(const FetchOptions& fetch, Tx& tx, std::vector<LeasedMessage>& messages) {
  const auto lease = [&](Tx& part) -> Status {
    TRY(auto found, ready_messages(fetch));
    if (found.rows.empty() && !found.digest_due) return Done{};
    return lease_available(std::move(found), fetch, part, messages);
  };
  auto leased = tx.attempt(lease, CommitAs::decision);
  if (!leased) messages.clear();
  return leased;
}

void Delivery::lease_on_arrival(Tx& tx) {
  const auto first = std::find_if(waiting_.begin(), waiting_.end(), [&](const WaitingFor* one) {
    return one->leased.empty() && is_turn_of(one->fetch);
  });
  if (first == waiting_.end()) return;
  WaitingFor& taker = **first;
  std::vector<LeasedMessage> messages;
  const auto leased = lease_separately(taker.fetch, tx, messages);
  if (!leased || messages.empty()) return;  // the receiver gets the error when it asks itself
  tx.then([this, &taker, messages = std::move(messages)]() mutable {
    log_leases(messages, taker.fetch);
    taker.leased = std::move(messages);
  });
}

Status Delivery::lease_available(ReadyMessages found, const FetchOptions& fetch, Tx& tx,
                                 std::vector<LeasedMessage>& messages) {
  if (found.digest_due) {
    TRY(auto summed, digest(tx));
    if (summed) found.rows.push_back(std::move(*summed));
  }
  for (auto& row : found.rows) {
    ++row.attempts;  // counts this offer
    row.method = fetch.receiver;
    auto fields = offered_fields(row);
    messages.push_back(outgoing(std::move(row), context_.roster, context_.config));
    if (fetch.most_text && messages.size() > 1 && block(messages).size() > *fetch.most_text) {
      messages.pop_back();
      break;
    }
    tx.log_told_by_row(Event::delivery_offered, std::move(fields));
  }
  return tx.ledger.deliveries().mark_offered(ids_of(messages), fetch.receiver, context_.clock.wall_ms());
}

void Delivery::log_leases(const std::vector<LeasedMessage>& messages, const FetchOptions& fetch) {
  std::optional<SteadyTime> until;
  if (fetch.lease) until = context_.clock.steady() + *fetch.lease;
  leases_.grant(messages, fetch.receiver, until);
  pointed_.reset();  // a receiver came; later messages need a new line
  if (handlers::is_pushed(fetch.method) && !fetch.by_hand) return;  // the push may still fail
  fetch.by_hand ? routes_.leased_by(fetch.receiver) : routes_.went(fetch.method, fetch.receiver);
}

bool Delivery::is_digest_due(bool taken_along) const {
  // Messages kept for a digest are due, whatever delivery.idle says now.
  const auto oldest = context_.ledger.deliveries().digest_material(context_.name, 1);
  if (!oldest || oldest->empty()) return false;
  const auto waited = context_.clock.wall_ms() - oldest->front().received_ms;
  // A negative time means that the clock was set back while the daemon was down.
  return taken_along || waited < 0 || waited >= context_.config.delivery.digest_after.count();
}

Result<std::optional<MessageRow>> Delivery::digest(Tx& tx) {
  TRY(const auto material, tx.ledger.deliveries().digest_material(context_.name, digest_limit));
  if (material.empty()) return std::optional<MessageRow>();
  std::vector<handlers::DigestItem> items;
  std::vector<long long> ids;
  for (const auto& row : material) {
    ids.push_back(row.id);
    // A text that was not sent is no message, whatever it looks like.
    if (row.type == handlers::unsent_type)
      items.push_back({row.sender, row.received_ms, schema::PlainText(), row.message.text.size(), row.key.value});
    else
      items.push_back({row.sender, row.received_ms, schema::decode_payload(row.message.text)});
  }
  const auto now = context_.clock.wall_ms();
  TRY(tx.ledger.deliveries().mark_offered(ids, "digest", now));
  TRY(tx.ledger.deliveries().mark_delivered(ids, now, Confirmation::none));
  LeadNotice word;
  word.notice =
      handlers::notice_of(handlers::digest_text(items), {"digest", material.back().key.value}, context_.view(), now);
  word.type = "digest";
  TRY(auto told, tx.notify_lead(word));
  return std::optional(std::move(told));
}

}  // namespace inbox_poller::poller
