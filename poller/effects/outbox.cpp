#include "poller/effects/outbox.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

#include "poller/run/pause.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using std::chrono::milliseconds;

constexpr int rows_at_once = 64;
constexpr int lock_rounds = 25;  // short waits for a held lock, about half a second in all
constexpr milliseconds first_backoff{1'000};
constexpr milliseconds longest_backoff{30'000};
constexpr EpochMs give_up_after_ms = 24LL * 60 * 60 * 1000;
constexpr milliseconds first_look{50};
constexpr milliseconds last_look{500};
constexpr int most_rewrites = 20;

EpochMs backoff_ms(int attempts) {
  const auto doubled = first_backoff.count() << std::min(attempts, 5);
  return std::min<EpochMs>(doubled, longest_backoff.count());
}

bool worth_waiting(WriteOutcome outcome) {
  return outcome == WriteOutcome::lock_held || outcome == WriteOutcome::changed;
}

bool arrived(WriteOutcome outcome) { return outcome == WriteOutcome::done || outcome == WriteOutcome::already_there; }

std::string_view describe(WriteOutcome outcome) {
  switch (outcome) {
    case WriteOutcome::done: return "written";
    case WriteOutcome::already_there: return "was there already";
    case WriteOutcome::lock_held: return "the inbox is locked by somebody else";
    case WriteOutcome::lock_foreign: return "something that is no lock of ours blocks the inbox";
    case WriteOutcome::changed: return "the inbox keeps changing or is half written";
    case WriteOutcome::missing: return "the inbox is gone";
    case WriteOutcome::refused: return "the inbox is not a file we may write";
    case WriteOutcome::fault: return "input/output error";
  }
  std::abort();
}

Fields fields_of(const TeamContext& context, const OutboxRow& row) {
  Fields fields{{"team", context.name}, {"inbox", row.inbox}, {"message_key", row.key.value}};
  if (!row.request_id.empty()) fields.emplace_back("request_id", row.request_id);
  return fields;
}

}  // namespace

Status Outbox::restore() {
  auto rows = context_.ledger.written(context_.name);
  if (!rows) return rows.error();
  for (auto& row : *rows) {
    AppendReceipt receipt{row.key, {}};
    watched_.push_back({std::move(row), std::move(receipt), context_.clock.steady()});
  }
  return Done{};
}

asio::awaitable<void> Outbox::run() {
  for (;;) {
    auto rows = context_.ledger.due(context_.name, context_.clock.wall_ms(), rows_at_once);
    if (!rows) {
      context_.telemetry.emit(Event::ledger_fault, {{"team", context_.name}, {"reason", rows.error().message}});
      co_return;
    }
    if (rows->empty()) break;
    std::vector<Attempt> attempts;
    for (auto& row : *rows) attempts.push_back({std::move(row), {}, {}});
    for (int round = 0; round < lock_rounds; ++round) {
      bool waiting = false;
      for (auto& attempt : attempts) {
        if (round > 0 && !worth_waiting(attempt.result.outcome)) continue;
        attempt.result = mailbox_.append(attempt.row.inbox, attempt.row.entry, attempt.receipt);
        waiting = waiting || worth_waiting(attempt.result.outcome);
      }
      if (!waiting) break;
      co_await pause_jittered(milliseconds(5), milliseconds(35));
    }
    if (!record(std::move(attempts))) co_return;  // nothing is forgotten: the rows are still pending
  }
  look_again();
}

Status Outbox::record(std::vector<Attempt> attempts) {
  const auto now = context_.clock.wall_ms();
  const auto recorded = context_.commit([&](EventBatch& events) -> Status {
    for (const auto& [row, result, receipt] : attempts) {
      auto fields = fields_of(context_, row);
      if (arrived(result.outcome)) {
        if (auto set = context_.ledger.set_effect(row.id, EffectState::written, row.attempts + 1, now, ""); !set)
          return set;
        fields.emplace_back("new", describe(result.outcome));
        fields.emplace_back("latency_ms", std::to_string(std::max<EpochMs>(0, now - row.created_ms)));
        if (!result.detail.empty()) fields.emplace_back("reason", result.detail);
        events.add(Event::effect_written, std::move(fields));
        continue;
      }
      const std::string problem =
          std::string(describe(result.outcome)) + (result.detail.empty() ? "" : ": " + result.detail);
      const bool dead = now - row.created_ms > give_up_after_ms;
      const auto next = now + backoff_ms(row.attempts);
      if (auto set = context_.ledger.set_effect(row.id, dead ? EffectState::dead : EffectState::pending,
                                                row.attempts + 1, next, problem);
          !set)
        return set;
      fields.emplace_back("reason", problem);
      fields.emplace_back("attempts", std::to_string(row.attempts + 1));
      if (dead) {
        events.add(Event::effect_dead, std::move(fields));
      } else if (problem != row.last_problem) {
        events.add(Event::effect_deferred, std::move(fields));  // once for each kind of problem, not for each attempt
      }
    }
    return Done{};
  });
  if (!recorded) return recorded;
  for (auto& attempt : attempts) {
    if (!arrived(attempt.result.outcome)) continue;
    ++attempt.row.attempts;
    watched_.push_back({std::move(attempt.row), std::move(attempt.receipt), context_.clock.steady()});
  }
  return Done{};
}

void Outbox::look_again() {
  const auto now = context_.clock.steady();
  std::vector<Watched> still, finished, overwritten;
  for (auto& watched : watched_) {
    const auto due = watched.looks == 0 ? first_look : last_look;
    if (now - watched.written < due) {
      still.push_back(std::move(watched));
      continue;
    }
    switch (mailbox_.find(watched.row.inbox, watched.receipt)) {
      case Presence::overwritten: overwritten.push_back(std::move(watched)); break;
      case Presence::read:
      case Presence::gone: finished.push_back(std::move(watched)); break;
      case Presence::unknown: still.push_back(std::move(watched)); break;
      case Presence::unread:
        if (watched.looks++ == 0) {
          still.push_back(std::move(watched));
        } else {
          finished.push_back(std::move(watched));
        }
        break;
    }
  }
  watched_ = std::move(still);
  if (finished.empty() && overwritten.empty()) return;
  const auto recorded = context_.commit([&](EventBatch& events) -> Status {
    for (const auto& watched : finished) {
      events.add(Event::effect_done, fields_of(context_, watched.row));
      if (auto set = context_.ledger.set_effect(watched.row.id, EffectState::done, watched.row.attempts, 0, ""); !set)
        return set;
    }
    for (const auto& watched : overwritten) {
      const int attempts = watched.row.attempts;
      const bool dead = attempts > most_rewrites;
      auto fields = fields_of(context_, watched.row);
      fields.emplace_back("reason", "a peer that takes no lock wrote over it");
      fields.emplace_back("attempts", std::to_string(attempts));
      events.add(dead ? Event::effect_dead : Event::effect_rewritten, std::move(fields));
      if (auto set = context_.ledger.set_effect(watched.row.id, dead ? EffectState::dead : EffectState::pending,
                                                attempts, context_.clock.wall_ms(), "overwritten by a peer");
          !set)
        return set;
    }
    return Done{};
  });
  if (recorded) return;
  for (auto* list : {&finished, &overwritten})  // not recorded: look at them again next time
    for (auto& watched : *list) watched_.push_back(std::move(watched));
}

}  // namespace inbox_poller::poller
