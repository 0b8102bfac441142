#include "poller/effects/outbox.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <limits>
#include <variant>

#include "handlers/request_kind.hpp"
#include "poller/pause.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using std::chrono::milliseconds;

constexpr int inboxes_at_once = 64;
constexpr std::size_t rows_at_once = 512;
constexpr int rows_together = 256;                     // for one inbox
constexpr std::size_t bytes_together = 256 << 10;  // of text: a backend may keep its lock while it writes them
constexpr milliseconds share_of_a_poll{1000};
constexpr int lock_rounds = 25;              // short waits for a held lock, about half a second in all
constexpr int most_attempts = 24 * 60 * 60;  // one a second: neither a clock jump nor a weekend without the daemon
                                             // exhausts them
constexpr int most_rewrites = 20;
constexpr EpochMs end_of_time = std::numeric_limits<EpochMs>::max() - OutboxTable::retry_after_ms;

bool arrived(WriteStatus put) { return put == WriteStatus::done || put == WriteStatus::unchanged; }

/// True if a failure of this message does not concern the messages after it in the inbox.
bool lets_others_pass(WriteStatus put) { return arrived(put) || put == WriteStatus::refused; }

std::string_view describe(WriteStatus put) {
  switch (put) {
    case WriteStatus::done: return "written";
    case WriteStatus::unchanged: return "was there already";
    case WriteStatus::busy: return "another program is writing the inbox";
    case WriteStatus::blocked: return "something that is not ours to remove blocks the inbox";
    case WriteStatus::gone: return "the inbox is gone";
    case WriteStatus::refused: return "the inbox is not a file we may write";
    case WriteStatus::fault: return "input/output error";
  }
  std::abort();
}

Fields fields_of(const TeamState& context, const OutboxRow& row) {
  Fields fields{{"team", context.name}, {"inbox", row.inbox}, {"message_key", row.key.value}};
  if (!row.request_id.empty()) fields.emplace_back("request_id", row.request_id);
  return fields;
}

}  // namespace

Status Outbox::restore() {
  TRY(auto rows, context_.ledger.outbox().written(context_.name));
  for (auto& row : rows) {
    mailbox_.track(row.inbox, row.key);
    auto& watched = watched_[row.inbox];
    watched.push_back({std::move(row), context_.clock.steady()});
  }
  return Done{};
}

bool Outbox::owes_nothing() {
  return none_pending_.check(context_.ledger.changes(), [&] {
    const auto rows = context_.ledger.outbox().due(context_.name, end_of_time, 1);
    return rows && rows->empty();
  });
}

asio::awaitable<void> Outbox::run() {
  if (owes_nothing()) co_return;
  // One worker that does not read may have many messages pending, and each write costs more than the one before. Leave
  // the rest to the next polls, so that other inboxes do not wait.
  const auto until = context_.clock.steady() + share_of_a_poll;
  do {
    auto rows = due();
    if (!rows) co_return context_.heard_of_ledger(rows.error());
    if (rows->empty()) break;
    std::vector<Attempt> attempts;
    std::vector<std::pair<Watched, Ending>> too_late;
    for (auto& row : *rows) {
      if (context_.has_left(context_.owner_of(row.inbox))) {
        too_late.emplace_back(Watched{std::move(row), context_.clock.steady()}, Ending::abandoned);
      } else if (auto why = refusal_of(row); !why.empty()) {
        row.last_problem = std::move(why);
        too_late.emplace_back(Watched{std::move(row), context_.clock.steady()}, Ending::refused);
      } else {
        attempts.push_back({std::move(row), {}});
      }
    }
    if (!complete(too_late)) co_return;
    for (int round = 1; !attempts.empty(); ++round) {
      post(attempts);
      std::vector<Attempt> over;
      std::vector<Attempt> waiting;
      for (auto& attempt : attempts) {
        const bool again = round < lock_rounds && attempt.result.put == WriteStatus::busy;
        (again ? waiting : over).push_back(std::move(attempt));
      }
      // Record before waiting for other inboxes: after a crash, an unrecorded message is written again.
      if (const auto recorded = co_await record(std::move(over)); !recorded) co_return;  // the rows are still pending
      attempts = std::move(waiting);
      if (!attempts.empty()) co_await pause_jittered(milliseconds(5), milliseconds(35));
    }
  } while (context_.clock.steady() < until);
}

/// Selects the oldest due message of each inbox, and the messages queued after it.
Result<std::vector<OutboxRow>> Outbox::due() {
  auto& outbox = context_.ledger.outbox();
  TRY(auto oldest, outbox.due(context_.name, context_.clock.wall_ms(), inboxes_at_once));
  std::vector<OutboxRow> rows;
  for (OutboxRow& first : oldest) {
    if (rows.size() >= rows_at_once) break;
    TRY(auto behind, outbox.behind(first, rows_together - 1));
    rows.push_back(std::move(first));
    rows.insert(rows.end(), std::make_move_iterator(behind.begin()), std::make_move_iterator(behind.end()));
  }
  return rows;
}

/// Writes messages; those of one inbox are adjacent.
void Outbox::post(std::span<Attempt> attempts) {
  std::vector<schema::Message> messages;
  const Attempt* before = nullptr;
  for (std::size_t i = 0; i < attempts.size();) {
    const std::string& inbox = attempts[i].row.inbox;
    if (before != nullptr && before->row.inbox == inbox && !lets_others_pass(before->result.put)) {
      attempts[i++].result = before->result;
      continue;
    }
    messages.clear();
    const std::size_t first = i;
    for (std::size_t bytes = 0; i < attempts.size() && attempts[i].row.inbox == inbox; ++i) {
      const schema::Message& message = attempts[i].row.message;
      bytes += message.text.size();
      if (!messages.empty() && bytes > bytes_together) break;
      messages.push_back(message);
    }
    auto results = mailbox_.post(inbox, messages);
    for (std::size_t n = 0; n < messages.size(); ++n) attempts[first + n].result = std::move(results[n]);
    before = &attempts[i - 1];
  }
}

std::string Outbox::refusal_of(const OutboxRow& row) const {
  if (row.request_id.empty()) return {};  // neither a reply nor a shutdown request
  if (!handlers::is_from_lead_only(schema::decode_payload(row.message.text))) return {};
  const auto owner = context_.owner_of(row.inbox);
  if (context_.roster.find(owner) == nullptr) return {};  // a roster that is just being rewritten may miss the owner
  const auto authority = context_.answer_authority(owner);
  return authority.counts() ? std::string() : handlers::verifies(owner, authority);
}

asio::awaitable<Status> Outbox::record(std::vector<Attempt> attempts) {
  if (attempts.empty()) co_return Done{};
  const auto now = context_.clock.wall_ms();
  // Log the obstacle of an inbox once, at its first waiting message; the later ones stay as they are.
  std::map<std::string, WriteReceipt> told;
  const auto waits_behind = [&](const Attempt& attempt) {
    const auto [known, is_new] = told.emplace(attempt.row.inbox, attempt.result);
    return !is_new && known->second.put == attempt.result.put && known->second.detail == attempt.result.detail;
  };
  Work work = [&](Tx& tx) -> Status {
    for (const auto& attempt : attempts) {
      const auto& [row, result] = attempt;
      if (!arrived(result.put) && waits_behind(attempt)) continue;
      auto fields = fields_of(context_, row);
      if (arrived(result.put)) {
        TRY(tx.ledger.outbox().set(row.id, EffectState::written, row.attempts + 1, now, ""));
        fields.emplace_back("result", describe(result.put));
        fields.emplace_back("latency_ms", std::to_string(std::max<EpochMs>(0, now - row.created_ms)));
        if (!result.detail.empty()) fields.emplace_back("reason", result.detail);
        tx.log(Event::reply_written, std::move(fields));
        continue;
      }
      const std::string problem =
          std::string(describe(result.put)) + (result.detail.empty() ? "" : ": " + result.detail);
      const bool dead = row.attempts + 1 >= most_attempts;
      TRY(tx.ledger.outbox().set(row.id, dead ? EffectState::dead : EffectState::pending,
                                                row.attempts + 1, now + OutboxTable::retry_after_ms, problem));
      fields.emplace_back("reason", problem);
      fields.emplace_back("attempts", std::to_string(row.attempts + 1));
      if (dead) {
        tx.log(Event::reply_failed, std::move(fields));
      } else if (problem != row.last_problem) {
        tx.log(Event::reply_deferred, std::move(fields));  // once per kind of problem, not per attempt
      }
    }
    tx.then([&] {
      for (auto& attempt : attempts) {
        if (!arrived(attempt.result.put)) continue;
        ++attempt.row.attempts;
        mailbox_.track(attempt.row.inbox, attempt.row.key);
        auto& watched = watched_[attempt.row.inbox];
        watched.push_back({std::move(attempt.row), context_.clock.steady()});
      }
    });
    return Done{};
  };
  co_return co_await commits_.commit(context_, std::move(work));
}

void Outbox::look(const std::string& inbox, bool exists) {
  const auto watched = watched_.find(inbox);
  if (watched == watched_.end()) return;
  std::vector<Watched> still;
  std::vector<std::pair<Watched, Ending>> ended;
  for (auto& one : watched->second) {
    switch (exists ? mailbox_.read_status(inbox, one.row.key) : ReadStatus::consumed) {
      case ReadStatus::waiting: still.push_back(std::move(one)); break;
      case ReadStatus::consumed: ended.emplace_back(std::move(one), Ending::consumed); break;
      case ReadStatus::lost: {
        // A shutdown that is over: the next worker of this name would read the request and end.
        const auto over = context_.ledger.shutdowns().is_over(context_.name, one.row.request_id);
        ended.emplace_back(std::move(one), over && *over ? Ending::abandoned : Ending::overwritten);
        break;
      }
    }
  }
  // If not recorded, the next change of the file or a restart finds it again.
  if (complete(ended))
    for (const auto& [one, ending] : ended) mailbox_.untrack(inbox, one.row.key);
  else
    for (auto& [one, ending] : ended) still.push_back(std::move(one));
  if (still.empty())
    watched_.erase(watched);
  else
    watched->second = std::move(still);
}

void Outbox::owed_again(const std::string& inbox, const std::string& request_id) {
  const auto rows = context_.ledger.outbox().of_request(context_.name, inbox, request_id);
  const auto is_owed = [&](const Watched& watched) {
    if (!rows) return watched.row.inbox == inbox && watched.row.request_id == request_id;
    return std::any_of(rows->begin(), rows->end(), [&](const OutboxRow& row) {
      return row.id == watched.row.id && row.state == EffectState::pending;
    });
  };
  for (auto& [name, list] : watched_) std::erase_if(list, is_owed);
  std::erase_if(watched_, [](const auto& one) { return one.second.empty(); });
}

EpochMs Outbox::unread_since(const std::string& inbox) const {
  const auto watched = watched_.find(inbox);
  EpochMs oldest = 0;
  if (watched == watched_.end()) return oldest;
  for (const auto& one : watched->second)
    oldest = oldest == 0 ? one.row.created_ms : std::min(oldest, one.row.created_ms);
  return oldest;
}

void Outbox::abandon(const std::string& inbox) {
  const auto watched = watched_.find(inbox);
  if (watched == watched_.end()) return;
  std::vector<std::pair<Watched, Ending>> ended;
  for (const auto& one : watched->second) ended.emplace_back(one, Ending::abandoned);
  if (!complete(ended)) return;
  for (const auto& one : watched->second) mailbox_.untrack(inbox, one.row.key);
  watched_.erase(watched);
}

Status Outbox::complete(const std::vector<std::pair<Watched, Ending>>& ended) {
  if (ended.empty()) return Done{};
  return context_.commit([&](Tx& tx) -> Status {
    for (const auto& [watched, ending] : ended) {
      const int attempts = watched.row.attempts;
      auto state = EffectState::done;
      std::string problem;
      auto fields = fields_of(context_, watched.row);
      switch (ending) {
        case Ending::consumed: {
          const auto waited = context_.clock.steady() - watched.written;
          fields.emplace_back("latency_ms", std::to_string(std::chrono::duration_cast<milliseconds>(waited).count()));
          tx.log(Event::reply_read, std::move(fields));
          break;
        }
        case Ending::abandoned:
          fields.emplace_back("reason", "its owner has left without reading it");
          tx.log(Event::reply_finished, std::move(fields));
          break;
        case Ending::refused:
          state = EffectState::dead;
          problem = watched.row.last_problem;
          fields.emplace_back("reason", problem);
          fields.emplace_back("attempts", std::to_string(attempts));
          tx.log(Event::reply_failed, std::move(fields));
          break;
        case Ending::overwritten:
          state = attempts > most_rewrites ? EffectState::dead : EffectState::pending;
          problem = "a peer that takes no lock wrote over it";
          fields.emplace_back("reason", problem);
          fields.emplace_back("attempts", std::to_string(attempts));
          tx.log(state == EffectState::dead ? Event::reply_failed : Event::reply_rewritten, std::move(fields));
          break;
      }
      TRY(tx.ledger.outbox().set(watched.row.id, state, attempts, context_.clock.wall_ms(), problem));
    }
    return Done{};
  });
}

}  // namespace inbox_poller::poller
