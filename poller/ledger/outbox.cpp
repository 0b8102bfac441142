// The outbox: what we owe to others, in bytes that were fixed when it was decided.
#include "poller/ledger/outbox.hpp"
#include "poller/ledger/row_sum.hpp"
#include "poller/ledger/sqlite.hpp"
#include "poller/ledger/texts.hpp"

namespace inbox_poller::poller {

std::string_view to_string(EffectState state) {
  switch (state) {
    case EffectState::pending: return "pending";
    case EffectState::written: return "written";
    case EffectState::done: return "done";
    case EffectState::dead: return "dead";
  }
  return "";
}

std::optional<EffectState> parse_effect_state(std::string_view text) {
  return parse(text, {EffectState::pending, EffectState::written, EffectState::done, EffectState::dead});
}

namespace {

const std::string select_outbox =
    "SELECT id, team, batch, inbox, key, entry, request_id, state, attempts, created_ms, next_ms, last_problem, sum "
    "FROM outbox ";

/// The oldest pending row of each inbox: nothing overtakes it.
constexpr const char* heads =
    "id IN (SELECT min(id) FROM outbox WHERE team = ?1 AND state = 'pending' GROUP BY inbox) ";

long long sum_of(const OutboxRow& row) {
  return row_sum(row.team, row.batch, row.inbox, row.key.value, row.entry, row.request_id, to_string(row.state),
                 row.attempts, row.created_ms, row.next_ms, row.last_problem);
}

Result<OutboxRow> read_outbox(const Database& database, const Statement& from) {
  OutboxRow row;
  std::string state;
  long long sum = 0;
  from.read(row.id, row.team, row.batch, row.inbox, row.key.value, row.entry, row.request_id, state, row.attempts,
            row.created_ms, row.next_ms, row.last_problem, sum);
  if (const auto known = parse_effect_state(state)) {
    row.state = *known;
    if (sum == sum_of(row)) return row;
  }
  return database.damaged("outbox row " + std::to_string(row.id) + " is not as it was written");
}

/// Writes what may change of a row; never its bytes.
Status move_on(Database& database, const OutboxRow& row) {
  return database.run(
      "UPDATE outbox SET state = ?2, attempts = ?3, created_ms = ?4, next_ms = ?5, last_problem = ?6, sum = ?7 WHERE "
      "id = ?1",
      row.id, to_string(row.state), row.attempts, row.created_ms, row.next_ms, row.last_problem, sum_of(row));
}

}  // namespace

Status OutboxTable::enqueue(const OutboxRow& row) {
  return database_.run(
      "INSERT INTO outbox (team, batch, inbox, key, entry, request_id, state, attempts, created_ms, next_ms, "
      "last_problem, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
      row.team, row.batch, row.inbox, row.key.value, Blob{row.entry}, row.request_id, to_string(row.state),
      row.attempts, row.created_ms, row.next_ms, row.last_problem, sum_of(row));
}

Result<std::vector<OutboxRow>> OutboxTable::due(std::string_view team, EpochMs now, int limit) {
  // A moment further ahead than we ever set one was set by a clock that has been put back since.
  const std::string sql =
      select_outbox + "WHERE " + heads + "AND (next_ms <= ?2 OR next_ms > ?2 + ?4) ORDER BY id LIMIT ?3";
  return all_rows(database_.query(sql, team, now, limit, retry_after_ms), read_outbox, database_);
}

Result<std::vector<OutboxRow>> OutboxTable::of_request(std::string_view team, std::string_view request_id) {
  const std::string sql = select_outbox + "WHERE team = ?1 AND request_id = ?2 ORDER BY id";
  return all_rows(database_.query(sql, team, request_id), read_outbox, database_);
}

Result<std::vector<OutboxRow>> OutboxTable::like(std::string_view prefix, int limit) {
  const std::string end = std::string(prefix) + '\xff';  // as messages_like()
  const std::string sql = select_outbox + "WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3";
  return all_rows(database_.query(sql, prefix, end, limit), read_outbox, database_);
}

Result<std::vector<OutboxRow>> OutboxTable::written(std::string_view team) {
  const std::string sql = select_outbox + "WHERE team = ?1 AND state = 'written' ORDER BY id";
  return all_rows(database_.query(sql, team), read_outbox, database_);
}

Status OutboxTable::set(long long id, EffectState state, int attempts, EpochMs next_ms, std::string_view problem) {
  auto found = first_row(database_.query(select_outbox + "WHERE id = ?1", id), read_outbox, database_);
  if (!found) return found.error();
  if (!*found) return Error{"ledger.sql", database_.path() + ": there is no outbox row " + std::to_string(id)};
  OutboxRow& row = **found;
  row.state = state;
  row.attempts = attempts;
  row.next_ms = next_ms;
  row.last_problem = problem;
  return move_on(database_, row);
}

Status OutboxTable::resend(std::vector<OutboxRow> rows, EpochMs now) {
  for (OutboxRow& row : rows) {
    if (row.state == EffectState::pending) continue;
    row.state = EffectState::pending;
    row.attempts = 0;
    row.created_ms = now;
    row.next_ms = now;
    row.last_problem.clear();
    if (auto moved = move_on(database_, row); !moved) return moved;
  }
  return Done{};
}

Result<long long> OutboxTable::owed(std::string_view team) {
  return database_.value<long long>("SELECT count(*) FROM outbox WHERE team = ?1 AND state = 'pending'", team);
}

Result<bool> OutboxTable::wrote(const schema::MessageKey& key) {
  return database_.value<bool>("SELECT 1 FROM outbox WHERE key = ?1", key.value);
}

}  // namespace inbox_poller::poller
