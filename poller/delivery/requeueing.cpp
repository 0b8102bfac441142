// The end of leases: acknowledged, returned, requeued.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "poller/context/message_life.hpp"
#include "poller/delivery/batch.hpp"
#include "poller/delivery/delivery.hpp"

namespace inbox_poller::poller {
namespace {

/// Time limit for printed messages without any event of their session.
SteadyTime proof_limit(const TeamState& context, handlers::OfferingHook hook) {
  const auto& delivery = context.config.delivery;
  // Only the session's own next turn shows that it woke.
  return context.clock.steady() + (hook == handlers::OfferingHook::wait ? delivery.assume_busy_for : delivery.busy_timeout);
}

}  // namespace

Result<std::size_t> Delivery::acknowledge(const std::vector<std::string>& keys, Confirmation how,
                                         const std::string& proof) {
  std::size_t count = 0;
  const auto take = [&](Tx& tx) -> Status {
    TRY(const auto delivered, note_taken(keys, how, proof, tx));
    count = delivered.size();
    return Done{};
  };
  TRY(context_.commit(take, CommitAs::fact));
  return count;
}

Result<std::vector<long long>> Delivery::note_taken(const std::vector<std::string>& keys, Confirmation how,
                                                    const std::string& proof, Tx& tx) {
  const auto now = context_.clock.wall_ms();
  std::vector<MessageRow> rows;  // for the events; leases hold this data already
  std::vector<long long> ids;
  for (const auto& key : keys) {
    MessageRow row;
    if (const auto* lease = leases_.find(key); lease != nullptr) {
      row.id = lease->id;
      row.team = context_.name;
      row.key = {key};
      row.sender = lease->from;
      row.method = lease->method;
      row.received_ms = lease->received_ms;
    } else {
      // It may have been requeued when its receiver's connection broke, but it was received all the same.
      TRY(auto found, tx.ledger.messages().find({key}));
      if (!found || found->team != context_.name) continue;
      row = *std::move(found);
    }
    row.confirmed = how;
    row.delivered_ms = now;
    ids.push_back(row.id);
    rows.push_back(std::move(row));
  }
  TRY(auto delivered, tx.ledger.deliveries().mark_delivered(ids, now, how));
  std::sort(delivered.begin(), delivered.end());
  std::set<long long> told;
  for (const auto& row : rows) {
    if (!std::binary_search(delivered.begin(), delivered.end(), row.id) || !told.insert(row.id).second) continue;
    auto fields = delivered_fields(row);
    if (proof.empty()) {
      tx.log_told_by_row(Event::delivery_delivered, std::move(fields));
    } else {
      fields.emplace_back("reason", proof);
      tx.log(Event::delivery_delivered, std::move(fields));
    }
  }
  tx.then([this, delivered, ids] { leases_.end(delivered, ids); });
  return delivered;
}

void Delivery::requeue(const std::vector<LeasedMessage>& messages, std::string_view reason) {
  std::vector<LeasedMessage> back;
  for (const auto& message : messages) {
    const auto row = context_.ledger.messages().find(message.key);
    if (!row) leases_.set_end(message.id, context_.clock.steady());  // ledger fault: run_due() requeues it
    if (row && *row && (*row)->delivery == DeliveryState::offered) back.push_back(message);
  }
  if (back.empty()) return;
  const auto committed = context_.commit([&](Tx& tx) {
    tx.keep(requeue_rows(ids_of(back)));
    for (const auto& message : back) {
      auto fields = fields_of(context_, message.key, message.from, "");
      fields.emplace_back("reason", std::string(reason));
      tx.log(Event::delivery_requeued, std::move(fields));
    }
    tx.then([&] { leases_.end(ids_of(back)); });
  });
  if (committed) return;
  for (const auto& message : back) leases_.set_end(message.id, context_.clock.steady());  // run_due() retries
}

void Delivery::return_unseen(const std::vector<LeasedMessage>& messages, std::string_view reason) {
  std::vector<LeasedMessage> leased;
  std::copy_if(messages.begin(), messages.end(), std::back_inserter(leased),
               [this](const auto& message) { return leases_.has(message.id); });
  if (leased.empty()) return;
  const auto ids = ids_of(leased);
  const auto committed = context_.commit([&](Tx& tx) -> Status {
    for (const auto& message : leased) {
      auto fields = fields_of(context_, message.key, message.from, "");
      fields.emplace_back("reason", std::string(reason));
      tx.log(Event::delivery_requeued, std::move(fields));
    }
    tx.then([&] { leases_.end(ids); });
    return tx.ledger.deliveries().return_unseen(ids);
  });
  if (!committed) requeue(messages, reason);
}

// --- messages that hooks printed ---

void Delivery::printed(HookOffer offer) {
  bool leased = false;
  for (const auto& message : offer.messages) leased = leases_.set_end(message.id, proof_limit(context_, offer.hook)) || leased;
  if (leased) hooks_.add(std::move(offer));
}

void Delivery::heard(const schema::HookEvent& event, bool counts) {
  const auto sign = counts ? handlers::sign_of(event) : std::nullopt;
  carry_out(hooks_.heard(sign, event.session_id, event.prompt));
  const bool interrupted = hooks_.take_interruption() && sign != handlers::HookSign::prompt;
  if (interrupted && lead_.state() == LeadState::busy) static_cast<void>(lead_.report(LeadEvent::turn_interrupted));
  for (const auto& offer : hooks_.offers())
    for (const auto& message : offer->messages) leases_.set_end(message.id, proof_limit(context_, offer->hook));
  hooks_.follow(event.session_id, event.transcript_path);
}

void Delivery::look_at_hooks() {
  const bool watched = lead_.state() == LeadState::busy && lead_.has_session();
  carry_out(hooks_.look(watched));
  if (hooks_.take_interruption() && watched) static_cast<void>(lead_.report(LeadEvent::turn_interrupted));
  hooks_.forget([this](long long id) { return leases_.has(id); });
}

void Delivery::carry_out(const std::vector<HookOffers::Verdict>& verdicts) {
  for (const auto& verdict : verdicts) {
    if (!verdict.proven)
      requeue(verdict.offer.messages, verdict.reason);
    else if (!acknowledge(keys_of(verdict.offer.messages), Confirmation::acknowledged, verdict.reason))
      hooks_.add(verdict.offer);  // on a ledger fault it is checked again, or its lease expires
  }
}

void Delivery::recall() {
  end_leases(leases_.due(SteadyTime::max()), "the team is not served any more");
}

void Delivery::end_leases(const std::vector<long long>& ids, std::string_view reason) {
  if (ids.empty()) return;
  static_cast<void>(context_.commit([&](Tx& tx) {  // on failure the next tick retries
    tx.keep(requeue_rows(ids));
    tx.log(Event::delivery_requeued,
           {{"team", context_.name}, {"count", std::to_string(ids.size())}, {"reason", std::string(reason)}});
    tx.then([&] { leases_.end(ids); });
  }));
}

/// Call in the open transaction. Data that the rows lose is stored as history lines.
Status Delivery::requeue_rows(const std::vector<long long>& ids) {
  TRY(const auto offered, context_.ledger.deliveries().offered(context_.name));
  for (const auto& row : offered) {
    if (std::find(ids.begin(), ids.end(), row.id) == ids.end()) continue;
    TRY(context_.ledger.history().add(offered_line(row)));
  }
  return context_.ledger.deliveries().requeue(context_.name, ids);
}

}  // namespace inbox_poller::poller
