// What was lent out: acknowledged, given back, taken back.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "poller/context/message_life.hpp"
#include "poller/delivery/batch.hpp"
#include "poller/delivery/delivery.hpp"

namespace inbox_poller::poller {
namespace {

using config::Way;

/// After the end of a turn, on a machine that has more to do.
constexpr std::chrono::milliseconds wait_comes_within{10'000};

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
  std::vector<MessageRow> rows;  // what their events name; of what is lent that is known
  std::vector<long long> ids;
  for (const auto& key : keys) {
    MessageRow row;
    if (const auto known = lent_keys_.find(key); known != lent_keys_.end()) {
      const auto& loan = lent_.at(known->second);
      row.id = known->second;
      row.team = context_.name;
      row.key = {key};
      row.sender = loan.from;
      row.sink = loan.sink;
      row.received_ms = loan.received_ms;
    } else {
      // It may have come back to the queue when its taker's connection broke; it was taken all the same.
      TRY(auto found, context_.ledger.messages().find({key}));
      if (!found || found->team != context_.name) continue;
      row = *std::move(found);
    }
    row.confirmed = how;
    row.delivered_ms = now;
    ids.push_back(row.id);
    rows.push_back(std::move(row));
  }
  TRY(auto delivered, context_.ledger.deliveries().mark_delivered(ids, now, how));
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
  tx.then([this, delivered] { forget_loans(delivered); });
  return delivered;
}

void Delivery::forget_loans(const std::vector<long long>& ids) {
  for (const auto id : ids) {
    const auto loan = lent_.find(id);
    if (loan == lent_.end()) continue;
    lent_keys_.erase(loan->second.key);
    lent_.erase(loan);
  }
}

std::vector<std::string> Delivery::taken_up_to(const std::string& sink, const std::string& key) const {
  std::vector<std::string> keys;
  if (const auto last = lent_keys_.find(key); last != lent_keys_.end()) {
    const auto& order = lent_.at(last->second).order;
    for (const auto& [id, loan] : lent_)
      if (loan.sink == sink && loan.order < order) keys.push_back(loan.key);
  }
  keys.push_back(key);
  return keys;
}

void Delivery::give_back(const std::vector<Offered>& messages, std::string_view reason) {
  std::vector<Offered> back;
  for (const auto& message : messages) {
    const auto row = context_.ledger.messages().find(message.key);
    if (const auto lent = lent_.find(message.id); !row && lent != lent_.end())
      lent->second.until = context_.clock.steady();  // what became of it cannot be read now: settle() takes it back
    if (row && *row && (*row)->delivery == DeliveryState::offered) back.push_back(message);
  }
  if (back.empty()) return;
  const auto committed = context_.commit([&](Tx& tx) {
    tx.keep(requeue(ids_of(back)));
    for (const auto& message : back) {
      auto fields = fields_of(context_, message.key, message.from, "");
      fields.emplace_back("reason", std::string(reason));
      tx.log(Event::delivery_requeued, std::move(fields));
    }
    tx.then([&] { forget_loans(ids_of(back)); });
  });
  if (committed) return;
  for (const auto& message : back)  // tried again by settle()
    if (const auto loan = lent_.find(message.id); loan != lent_.end()) loan->second.until = context_.clock.steady();
}

void Delivery::unoffer(const std::vector<Offered>& messages, std::string_view reason) {
  std::vector<Offered> lent;
  std::copy_if(messages.begin(), messages.end(), std::back_inserter(lent),
               [this](const auto& message) { return is_lent(message.id); });
  if (lent.empty()) return;
  const auto ids = ids_of(lent);
  const auto committed = context_.commit([&](Tx& tx) -> Status {
    for (const auto& message : lent) {
      auto fields = fields_of(context_, message.key, message.from, "");
      fields.emplace_back("reason", std::string(reason));
      tx.log(Event::delivery_requeued, std::move(fields));
    }
    tx.then([&] { forget_loans(ids); });
    return tx.ledger.deliveries().unoffer(ids);
  });
  if (!committed) give_back(messages, reason);
}

// --- what hooks printed ---

SteadyTime Delivery::proof_limit(handlers::HookWay way) const {
  const auto& delivery = context_.config.delivery;
  // Nothing but the session's own next turn tells that it woke.
  return context_.clock.steady() + (way == handlers::HookWay::wait ? delivery.presumed_busy : delivery.busy_limit);
}

void Delivery::printed(HookOffer offer) {
  bool lent = false;
  for (const auto& message : offer.messages) {
    const auto found = lent_.find(message.id);
    if (found == lent_.end()) continue;
    found->second.until = proof_limit(offer.way);
    lent = true;
  }
  if (lent) hooks_.add(std::move(offer));
}

void Delivery::heard(const schema::HookEvent& event, bool counts) {
  const auto sign = counts ? handlers::sign_of(event) : std::nullopt;
  carry_out(hooks_.heard(sign, event.session_id, event.prompt));
  const bool interrupted = hooks_.take_interruption() && sign != handlers::HookSign::prompt;
  if (interrupted && state_ == LeadState::busy) static_cast<void>(report(LeadEvent::turn_interrupted));
  for (const auto& offer : hooks_.offers())
    for (const auto& message : offer->messages)
      if (const auto found = lent_.find(message.id); found != lent_.end())
        found->second.until = proof_limit(offer->way);
  hooks_.follow(event.session_id, event.transcript_path);
}

void Delivery::client_says(schema::ClientMode mode, std::string version, bool attended) {
  hooks_.told_version(std::move(version));
  client_.mode = mode;
  client_.attended = attended;
}

void Delivery::session_says(std::string_view status) {
  const bool was_its_word = row_.by == to_string(LeadEvent::session_works);
  if (status.empty() && !was_its_word) return;
  const auto event = handlers::said_by_file(status.empty() ? "idle" : status, row_.by, !row_.session.empty());
  if (event && row_.by != to_string(*event)) static_cast<void>(report(*event));
}

const handlers::ClientSight& Delivery::client() {
  client_.version = hooks_.version();
  return client_;
}

std::string Delivery::why_not_woken() {
  const auto& via = context_.config.delivery.via;
  if (row_.session.empty() || is_attached(Way::hook) || std::find(via.begin(), via.end(), Way::hook) == via.end())
    return {};
  const bool was_heard = client_.mode != schema::ClientMode::unknown || !client().version.empty();
  if (was_heard)
    if (auto why = handlers::why_not_woken(client()); !why.empty()) return why;
  // One comes with the session's start and with each end of a turn.
  if (state_ != LeadState::idle || context_.clock.wall_ms() - row_.since_ms < wait_comes_within.count()) return {};
  return was_heard ? "no `hook wait` came with its last event: its hooks are those of an older client; write them again, "
                     "inbox-poller hook install"
                   : "nothing was heard of it since the daemon's start; it is woken again after its next turn";
}

void Delivery::look_at_hooks() {
  const bool watched = state_ == LeadState::busy && !row_.session.empty();
  carry_out(hooks_.look(watched));
  if (hooks_.take_interruption() && watched) static_cast<void>(report(LeadEvent::turn_interrupted));
  hooks_.forget([this](long long id) { return is_lent(id); });
}

void Delivery::carry_out(const std::vector<HookOffers::Verdict>& verdicts) {
  for (const auto& verdict : verdicts) {
    if (!verdict.proven)
      give_back(verdict.offer.messages, verdict.reason);
    else if (!acknowledge(keys_of(verdict.offer.messages), Confirmation::acknowledged, verdict.reason))
      hooks_.add(verdict.offer);  // the ledger fails: looked at again, or its time runs out
  }
}

void Delivery::recall() {
  std::vector<long long> back;
  for (const auto& [id, lent] : lent_)
    if (lent.until) back.push_back(id);
  take_back(back, "the team is no longer served");
}

void Delivery::take_back(const std::vector<long long>& ids, std::string_view reason) {
  if (ids.empty()) return;
  static_cast<void>(context_.commit([&](Tx& tx) {  // or at the next look
    tx.keep(requeue(ids));
    tx.log(Event::delivery_requeued,
           {{"team", context_.name}, {"count", std::to_string(ids.size())}, {"reason", std::string(reason)}});
    tx.then([&] { forget_loans(ids); });
  }));
}

/// In the open transaction. What the rows forget with it is kept as lines.
Status Delivery::requeue(const std::vector<long long>& ids) {
  TRY(const auto offered, context_.ledger.deliveries().offered(context_.name));
  for (const auto& row : offered) {
    if (std::find(ids.begin(), ids.end(), row.id) == ids.end()) continue;
    TRY(context_.ledger.history().add(offered_line(row)));
  }
  return context_.ledger.deliveries().requeue(context_.name, ids);
}

}  // namespace inbox_poller::poller
