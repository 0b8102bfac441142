#include "poller/delivery/courier.hpp"

#include <algorithm>
#include <chrono>

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using std::chrono::milliseconds;

/// How long an effect of the same batch may hold chat back. A worker's inbox that stays blocked must not silence the
/// lead for good.
constexpr milliseconds effect_grace{30'000};

std::vector<long long> ids_of(const std::vector<OutgoingMessage>& messages) {
  std::vector<long long> ids;
  ids.reserve(messages.size());
  for (const auto& message : messages) ids.push_back(message.id);
  return ids;
}

Fields fields_of(const TeamContext& context, const schema::MessageKey& key, const std::string& from,
                 const std::string& sink) {
  return {{"team", context.name}, {"message_key", key.value}, {"from", from}, {"sink", sink}};
}

}  // namespace

Status Courier::restore() {
  auto row = context_.ledger.lead(context_.name);
  if (!row) return row.error();
  if (!*row) {
    row_.since_ms = context_.clock.wall_ms();
    return Done{};
  }
  row_ = **row;
  state_ = parse_lead_state(row_.state).value_or(LeadState::idle);
  if (state_ == LeadState::busy) {
    const auto left = milliseconds(row_.until_ms - context_.clock.wall_ms());
    const auto limit = std::max(context_.config.delivery.busy_limit, milliseconds(row_.until_ms - row_.since_ms));
    busy_until_ = context_.clock.steady() + std::clamp(left, milliseconds(0), std::max(limit, milliseconds(0)));
  }
  return Done{};
}

Status Courier::report(LeadEvent event, std::optional<config::Duration> limit) {
  const auto state = next(state_, event);
  LeadRow row{std::string(to_string(state)), context_.clock.wall_ms(), 0};
  const auto busy_for = limit.value_or(context_.config.delivery.busy_limit);
  if (state == LeadState::busy) row.until_ms = row.since_ms + busy_for.count();
  const auto committed = context_.commit([&](EventBatch& events) -> Status {
    if (state != state_)
      events.add(Event::lead_state, {{"team", context_.name},
                                     {"old", std::string(to_string(state_))},
                                     {"new", row.state},
                                     {"by", event == LeadEvent::busy_limit_passes ? "busy limit" : "report"}});
    return context_.ledger.put_lead(context_.name, row);
  });
  if (!committed) return committed;
  state_ = state;
  row_ = row;
  busy_until_.reset();
  if (state == LeadState::busy) busy_until_ = context_.clock.steady() + busy_for;
  return Done{};
}

void Courier::settle() {
  const auto now = context_.clock.steady();
  if (busy_until_ && *busy_until_ <= now)
    static_cast<void>(report(LeadEvent::busy_limit_passes, std::nullopt));  // or next tick
  std::vector<long long> back;
  for (const auto& [id, until] : leases_)
    if (until <= now) back.push_back(id);
  take_back(back, "not acknowledged in time");
}

void Courier::recall() {
  std::vector<long long> back;
  for (const auto& [id, until] : leases_) back.push_back(id);
  take_back(back, "the team is no longer served");
}

void Courier::take_back(const std::vector<long long>& ids, std::string_view reason) {
  if (ids.empty()) return;
  const auto committed = context_.commit([&](EventBatch& events) -> Status {
    events.add(Event::delivery_requeued,
               {{"team", context_.name}, {"count", std::to_string(ids.size())}, {"reason", std::string(reason)}});
    return context_.ledger.requeue(context_.name, ids);
  });
  if (committed)
    for (const auto id : ids) leases_.erase(id);
}

Result<std::vector<OutgoingMessage>> Courier::offer(std::size_t max, const std::string& sink, bool even_busy,
                                                    std::optional<config::Duration> lease) {
  std::vector<OutgoingMessage> messages;
  if (!is_open(state_) && !even_busy) return messages;
  const auto now = context_.clock.wall_ms();
  auto rows = context_.ledger.offerable(context_.name, now - effect_grace.count(),
                                        static_cast<int>(std::min<std::size_t>(max, 1000)));
  if (!rows) return rows.error();
  if (rows->empty()) return messages;
  for (auto& row : *rows) {
    ++row.attempts;  // this offer
    messages.push_back(outgoing(row, context_.roster, context_.config.limits.message));
  }
  const auto committed = context_.commit([&](EventBatch& events) -> Status {
    for (const auto& message : messages) {
      auto fields = fields_of(context_, message.key, message.from, sink);
      fields.emplace_back("attempts", std::to_string(message.attempts));
      events.add(Event::delivery_offered, std::move(fields));
    }
    return context_.ledger.mark_offered(ids_of(messages), sink, now);
  });
  if (!committed) return committed.error();
  if (lease)
    for (const auto& message : messages) leases_[message.id] = context_.clock.steady() + *lease;
  return messages;
}

Result<std::size_t> Courier::acknowledge(const std::vector<std::string>& keys) {
  const auto now = context_.clock.wall_ms();
  std::vector<long long> ids;
  const auto committed = context_.commit([&](EventBatch& events) -> Status {
    for (const auto& key : keys) {
      const auto row = context_.ledger.message({key});
      if (!row) return row.error();
      if (!*row || (*row)->team != context_.name) continue;
      if ((*row)->delivery != DeliveryState::offered && (*row)->delivery != DeliveryState::queued) continue;
      ids.push_back((*row)->id);
      auto fields = fields_of(context_, (*row)->key, (*row)->sender, (*row)->sink);
      fields.emplace_back("latency_ms", std::to_string(std::max<EpochMs>(0, now - (*row)->received_ms)));
      events.add(Event::delivery_delivered, std::move(fields));
    }
    return context_.ledger.mark_delivered(ids, now);
  });
  if (!committed) return committed.error();
  for (const auto id : ids) leases_.erase(id);
  return ids.size();
}

void Courier::give_back(const std::vector<OutgoingMessage>& messages) {
  std::vector<OutgoingMessage> back;
  for (const auto& message : messages) {
    const auto row = context_.ledger.message(message.key);
    if (row && *row && (*row)->delivery == DeliveryState::offered) back.push_back(message);
  }
  if (back.empty()) return;
  const auto committed = context_.commit([&](EventBatch& events) -> Status {
    for (const auto& message : back) {
      auto fields = fields_of(context_, message.key, message.from, "");
      fields.emplace_back("reason", "the receiver went away without acknowledging");
      events.add(Event::delivery_requeued, std::move(fields));
    }
    return context_.ledger.requeue(context_.name, ids_of(back));
  });
  if (committed) return;
  for (const auto& message : back) leases_[message.id] = context_.clock.steady();  // tried again by settle()
}

bool Courier::has_push_sink() const {
  return !context_.config.delivery.exec.argv.empty() || !context_.config.delivery.file.empty();
}

asio::awaitable<void> Courier::push() {
  if (!has_push_sink() || (push_after_ && context_.clock.steady() < *push_after_)) co_return;
  for (bool more = true; more;) more = co_await push_batch();  // g++ 12 traps on `while (co_await …) {}` under UBSan
}

asio::awaitable<bool> Courier::push_batch() {
  const auto delivery = context_.config.delivery;  // a copy: the configuration may be replaced while we wait
  const bool with_exec = !delivery.exec.argv.empty();
  std::string sink = with_exec ? "exec" : "file";
  auto offered = offer(delivery.batch, sink, false, std::nullopt);
  if (!offered || offered->empty()) co_return false;
  Status sent = Error{"sink.none", "no sink"};
  if (with_exec) {
    sent = co_await deliver_exec(delivery.exec, context_.name, block(*offered));
    if (!sent)
      context_.telemetry.emit(Event::delivery_failed,
                              {{"team", context_.name}, {"sink", sink}, {"reason", sent.error().message}});
  }
  if (!sent && !delivery.file.empty()) {
    sink = "file";
    sent = deliver_file(files_, delivery.file, *offered);
    if (!sent)
      context_.telemetry.emit(Event::delivery_failed,
                              {{"team", context_.name}, {"sink", sink}, {"reason", sent.error().message}});
  }
  if (!sent) {
    give_back(*offered);
    push_failures_ = std::min(push_failures_ + 1, 6);
    push_after_ = context_.clock.steady() + milliseconds(500LL << push_failures_);
    co_return false;
  }
  push_failures_ = 0;
  push_after_.reset();
  std::vector<std::string> keys;
  for (const auto& message : *offered) keys.push_back(message.key.value);
  const auto acknowledged = acknowledge(keys);
  if (!acknowledged) give_back(*offered);
  co_return acknowledged.ok();
}

}  // namespace inbox_poller::poller
