// The ledger as a whole: its transactions, its tables and views, and its pruning.
#include "poller/ledger/ledger.hpp"

#include <utility>

#include "poller/filesystem.hpp"
#include "poller/ledger/ledger_impl.hpp"
#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {
namespace {

/// Messages that may be deleted unless an inbox has them: old, without a waiting delivery, open request or reply.
constexpr const char* prunable_messages = R"sql(
SELECT id, key FROM messages AS m
WHERE team = ?1 AND received_ms < ?2
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE message = m.id AND state IN ('queued', 'offered'))
  AND (request_id = '' OR NOT (
    EXISTS (SELECT 1 FROM requests WHERE request_id = m.request_id AND team = m.team AND state IN ('received', 'pending'))
    OR EXISTS (SELECT 1 FROM shutdowns WHERE request_id = m.request_id AND team = m.team
               AND state IN ('requested', 'approved', 'forced', 'process_gone', 'pane_gone'))
    OR EXISTS (SELECT 1 FROM outbox WHERE team = m.team AND request_id = m.request_id AND state IN ('pending', 'written'))))
)sql";

/// The order matters: each statement checks the rows that the one before left. A request can come again while the
/// ledger has a message with it, so its answer must stay until then.
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

/// Builds a view for people. The views show keys as text, and a message with its delivery.
TableText view_of(std::string_view name, std::string_view columns, std::string_view from) {
  return {std::string(name), "CREATE VIEW " + std::string(name) + " AS SELECT " + std::string(columns) + "\nFROM " +
                                 std::string(from) + ";\n"};
}

std::string key_column(const std::string& column) {
  return "lower(hex(substr(" + column + ", 1, 16))) || iif(length(" + column + ") > 16, '-' || CAST(substr(" + column +
         ", 17) AS TEXT), '')";
}

}  // namespace

std::vector<TableText> described_tables() {
  return {{"daemon",
           "CREATE TABLE daemon (\n  one INTEGER PRIMARY KEY CHECK (one = 1),\n  batch INTEGER NOT NULL\n) STRICT;\n"
           "INSERT INTO daemon VALUES (1, 0);\n"},
          messages_table().text(),
          deliveries_table().text(),
          requests_table().text(),
          outbox_table().text(),
          shutdowns_table().text(),
          orders_table().text(),
          members_table().text(),
          rules_table().text(),
          leads_table().text(),
          rosters_table().text(),
          history_table().text(),
          view_of("messages_view",
                  "id, " + key_column("key") +
                      " AS key, m.team, inbox, sender, type, disposition, code, reason,\n  request_id, received_ms, "
                      "batch, from_id, timestamp, summary, text, raw, coalesce(state, 'none') AS delivery, priority,\n  "
                      "confirmed, method, offered_ms, delivered_ms, coalesce(attempts, 0) AS attempts",
                  "messages AS m LEFT JOIN deliveries ON message = id"),
          view_of("outbox_view",
                  "id, " + key_column("key") +
                      " AS key, team, batch, inbox, request_id, state, attempts, created_ms,\n  next_ms, last_problem, "
                      "from_id, timestamp, summary, text",
                  "outbox"),
          view_of("history_view",
                  "id, at_ms, team, " + key_column("message_key") + " AS message_key, request_id,\n  event, detail",
                  "history")};
}

std::string json_list(const std::vector<long long>& ids) {
  std::string text = "[";
  for (const long long id : ids) {
    if (text.size() > 1) text += ',';
    text += std::to_string(id);
  }
  return text + "]";
}

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ledger::~Ledger() = default;

MessageTable& Ledger::messages() { return impl_->messages; }
DeliveryTable& Ledger::deliveries() { return impl_->deliveries; }
RequestTable& Ledger::requests() { return impl_->requests; }
OutboxTable& Ledger::outbox() { return impl_->outbox; }
ShutdownTable& Ledger::shutdowns() { return impl_->shutdowns; }
OrderTable& Ledger::orders() { return impl_->orders; }
MemberTable& Ledger::members() { return impl_->members; }
RuleTable& Ledger::rules() { return impl_->rules; }
LeadTable& Ledger::leads() { return impl_->leads; }
RosterTable& Ledger::rosters() { return impl_->rosters; }
HistoryTable& Ledger::history() { return impl_->history; }
NodeMailTable& Ledger::node_mail() { return impl_->node_mail; }

Status Ledger::transaction(const std::function<Status()>& work) { return impl_->database->transaction(work); }

Status Ledger::still_there() { return impl_->database->still_there(); }
void Ledger::on_gone(std::function<void()> told) { impl_->database->on_gone(std::move(told)); }

Result<SavedLedger> Ledger::save() {
  const std::string& path = impl_->database->path();
  PosixFileSystem files;
  TRY(const auto folder, ensure_private_dir(files, path.substr(0, path.rfind('/'))));
  TRY(auto saved, impl_->database->save());
  const auto waits = saved_ledger_waits(path);
  return SavedLedger{std::move(saved), waits ? "Find out who took it, then start the daemon: it goes on with that" : waits.error().message};
}

bool Ledger::is_new() const { return impl_->is_new; }
bool Ledger::was_saved() const { return impl_->was_saved; }
const std::optional<SetAsideLedger>& Ledger::older() const { return impl_->older; }

long long Ledger::changes() const { return impl_->database->all_changes(); }
long long Ledger::chat_changes() const { return impl_->database->chat_changes(); }

void Ledger::tell(std::function<void(Areas)> told) { impl_->database->tell(std::move(told)); }

void Ledger::checkpoint_if_due() { impl_->database->checkpoint_if_due(); }

Status Ledger::attempt(const std::function<Status()>& work, Status& outcome) {
  return impl_->database->attempt(work, outcome);
}

Result<long long> Ledger::next_batch() {
  return impl_->database->value<long long>("UPDATE daemon SET batch = batch + 1 RETURNING batch");
}

Result<long long> Ledger::prune(std::string_view team, EpochMs cutoff,
                                const std::function<bool(const schema::MessageKey&)>& keep) {
  Database& database = *impl_->database;
  std::vector<long long> gone;
  const auto work = [&]() -> Status {
    {
      Statement candidates = database.query(prunable_messages, team, cutoff);
      while (true) {
        TRY(auto more, candidates.next());
        if (!more) break;
        long long id = 0;
        schema::MessageKey key;
        candidates.get(0, id);
        if (!Cell<schema::MessageKey>::read(candidates, 1, key))
          return database.damaged("message " + std::to_string(id) + "'s key is missing");
        if (!keep(key)) gone.push_back(id);
      }
    }
    const auto ids = json_list(gone);
    auto done = database.run("DELETE FROM deliveries WHERE message IN (SELECT value FROM json_each(?1))", ids);
    if (done) done = database.run("DELETE FROM messages WHERE id IN (SELECT value FROM json_each(?1))", ids);
    for (const char* step : {prune_requests, prune_shutdowns, prune_outbox, prune_history, prune_orders})
      if (done) done = database.run(step, team, cutoff);
    return done;
  };
  TRY(database.in_transaction() ? work() : database.transaction(work));
  return static_cast<long long>(gone.size());
}

}  // namespace inbox_poller::poller
