// The ledger as a whole: its transactions, the tick counter, the history, and how it stays small.
#include "poller/ledger/ledger.hpp"

#include "poller/ledger/ledger_impl.hpp"
#include "poller/ledger/row_sum.hpp"
#include "poller/ledger/texts.hpp"

namespace inbox_poller::poller {
namespace {

const std::string select_history = "SELECT at_ms, team, message_key, request_id, event, detail, sum FROM history ";

long long sum_of(const HistoryRow& row) {
  return row_sum(row.at_ms, row.team, row.message_key, row.request_id, row.event, row.detail);
}

Result<HistoryRow> read_history(const Database& database, const Statement& from) {
  HistoryRow row;
  long long sum = 0;
  from.read(row.at_ms, row.team, row.message_key, row.request_id, row.event, row.detail, sum);
  if (sum != sum_of(row)) return database.damaged("a line of the history is not as it was written");
  return row;
}

/// Messages that could go if no inbox has them any more: old, not on their way, and nobody waits for what they asked.
constexpr const char* prunable_messages = R"sql(
SELECT id, key FROM messages AS m
WHERE team = ?1 AND received_ms < ?2 AND delivery IN ('none', 'delivered', 'expired')
  AND (request_id = '' OR NOT (
    EXISTS (SELECT 1 FROM requests WHERE request_id = m.request_id AND team = m.team AND state IN ('received', 'pending'))
    OR EXISTS (SELECT 1 FROM shutdowns WHERE request_id = m.request_id AND team = m.team
               AND state IN ('requested', 'approved', 'forced', 'process_gone', 'pane_gone'))
    OR EXISTS (SELECT 1 FROM outbox WHERE team = m.team AND request_id = m.request_id AND state IN ('pending', 'written'))))
)sql";

/// In this order: each statement looks at what the one before it left. An answer must be there as long as its ask can
/// come again, and an ask can come again as long as a message with it is remembered.
constexpr const char* prune_requests = R"sql(
DELETE FROM requests AS r
WHERE team = ?1 AND asked_ms < ?2 AND decided_ms < ?2 AND state NOT IN ('received', 'pending')
  AND NOT EXISTS (SELECT 1 FROM messages WHERE request_id = r.request_id AND team = r.team AND request_id <> '')
  AND NOT EXISTS (SELECT 1 FROM outbox WHERE team = r.team AND request_id = r.request_id AND state IN ('pending', 'written'))
)sql";
constexpr const char* prune_shutdowns = R"sql(
DELETE FROM shutdowns AS s
WHERE team = ?1 AND changed_ms < ?2 AND state NOT IN ('requested', 'approved', 'forced', 'process_gone', 'pane_gone')
  AND NOT EXISTS (SELECT 1 FROM messages WHERE request_id = s.request_id AND team = s.team AND request_id <> '')
  AND NOT EXISTS (SELECT 1 FROM outbox WHERE team = s.team AND request_id = s.request_id AND state IN ('pending', 'written'))
)sql";
constexpr const char* prune_outbox = R"sql(
DELETE FROM outbox AS o
WHERE team = ?1 AND created_ms < ?2 AND state IN ('done', 'dead')
  AND NOT EXISTS (SELECT 1 FROM requests WHERE request_id = o.request_id AND team = o.team)
  AND NOT EXISTS (SELECT 1 FROM shutdowns WHERE request_id = o.request_id AND team = o.team)
)sql";
constexpr const char* prune_history = R"sql(
DELETE FROM history AS h
WHERE team = ?1 AND at_ms < ?2
  AND NOT EXISTS (SELECT 1 FROM messages WHERE key = h.message_key)
  AND NOT EXISTS (SELECT 1 FROM requests WHERE request_id = h.request_id AND team = h.team)
  AND NOT EXISTS (SELECT 1 FROM shutdowns WHERE request_id = h.request_id AND team = h.team)
)sql";
constexpr const char* prune_orders = R"sql(
DELETE FROM orders AS o
WHERE team = ?1 AND state_ms < ?2
  AND NOT EXISTS (SELECT 1 FROM members WHERE team = o.team AND name = o.member AND present = 1)
)sql";

}  // namespace

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ledger::~Ledger() = default;

MessageTable& Ledger::messages() { return impl_->messages; }
DeliveryTable& Ledger::deliveries() { return impl_->deliveries; }
AskTable& Ledger::asks() { return impl_->asks; }
OutboxTable& Ledger::outbox() { return impl_->outbox; }
ShutdownTable& Ledger::shutdowns() { return impl_->shutdowns; }
OrderTable& Ledger::orders() { return impl_->orders; }
MemberTable& Ledger::members() { return impl_->members; }
RuleTable& Ledger::rules() { return impl_->rules; }
LeadTable& Ledger::leads() { return impl_->leads; }
RosterTable& Ledger::rosters() { return impl_->rosters; }
HistoryTable& Ledger::history() { return impl_->history; }

Status Ledger::transaction(const std::function<Status()>& work) { return impl_->database->transaction(work); }

long long Ledger::changes() const { return impl_->database->all_changes(); }

void Ledger::checkpoint_if_due() { impl_->database->checkpoint_if_due(); }

Status Ledger::attempt(const std::function<Status()>& work, Status& outcome) {
  return impl_->database->attempt(work, outcome);
}

Result<long long> Ledger::next_batch() {
  return impl_->database->value<long long>("UPDATE daemon SET batch = batch + 1 RETURNING batch");
}

Status HistoryTable::add(const HistoryRow& row) {
  return database_.run(
      "INSERT INTO history (at_ms, team, message_key, request_id, event, detail, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
      "?7)",
      row.at_ms, row.team, row.message_key, row.request_id, row.event, row.detail, sum_of(row));
}

Result<std::vector<HistoryRow>> HistoryTable::of_message(const schema::MessageKey& key) {
  return all_rows(database_.query(select_history + "WHERE message_key = ?1 ORDER BY id", key.value), read_history,
                  database_);
}

Result<std::vector<HistoryRow>> HistoryTable::of_request(std::string_view team, std::string_view request_id) {
  const std::string sql = select_history + "WHERE team = ?1 AND request_id = ?2 ORDER BY id";
  return all_rows(database_.query(sql, team, request_id), read_history, database_);
}

Result<long long> Ledger::prune(std::string_view team, EpochMs cutoff,
                                const std::function<bool(const schema::MessageKey&)>& keep) {
  Database& database = *impl_->database;
  std::vector<long long> gone;
  const auto work = [&]() -> Status {
    {
      Statement candidates = database.query(prunable_messages, team, cutoff);
      while (true) {
        auto more = candidates.next();
        if (!more) return more.error();
        if (!*more) break;
        long long id = 0;
        schema::MessageKey key;
        candidates.read(id, key.value);
        if (!keep(key)) gone.push_back(id);
      }
    }
    auto done = database.run("DELETE FROM messages WHERE id IN (SELECT value FROM json_each(?1))", json_list(gone));
    for (const char* step : {prune_requests, prune_shutdowns, prune_outbox, prune_history, prune_orders}) {
      if (done) done = database.run(step, team, cutoff);
    }
    return done;
  };
  auto done = database.in_transaction() ? work() : database.transaction(work);
  if (!done) return done.error();
  return static_cast<long long>(gone.size());
}

}  // namespace inbox_poller::poller
