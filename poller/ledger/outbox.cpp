// The outbox: what we owe to others, in bytes that were fixed when it was decided.
#include <initializer_list>

#include "poller/ledger/ledger_impl.hpp"
#include "poller/ledger/row_sum.hpp"

namespace inbox_poller::poller {

std::string_view to_string(EffectState state) {
  switch (state) {
    case EffectState::pending:
      return "pending";
    case EffectState::written:
      return "written";
    case EffectState::done:
      return "done";
    case EffectState::dead:
      return "dead";
  }
  return "";
}

std::optional<EffectState> parse_effect_state(std::string_view text) {
  for (const auto value : {EffectState::pending, EffectState::written, EffectState::done, EffectState::dead}) {
    if (to_string(value) == text) return value;
  }
  return std::nullopt;
}

namespace {

const std::string select_outbox =
    "SELECT id, team, batch, inbox, key, entry, request_id, sum, state, attempts, created_ms, next_ms, last_problem "
    "FROM outbox ";

/// The oldest pending row of each inbox: nothing overtakes it.
constexpr const char* heads =
    "id IN (SELECT min(id) FROM outbox WHERE team = ?1 AND state = 'pending' GROUP BY inbox) ";

long long sum_of(const OutboxRow& row) {
  return row_sum(row.team, row.batch, row.inbox, row.key.value, row.entry, row.request_id);
}

Result<OutboxRow> read_outbox(const Database& database, const Statement& from) {
  OutboxRow row;
  std::string state;
  long long sum = 0;
  from.read(row.id, row.team, row.batch, row.inbox, row.key.value, row.entry, row.request_id, sum, state, row.attempts,
            row.created_ms, row.next_ms, row.last_problem);
  const auto known = parse_effect_state(state);
  if (!known || sum != sum_of(row)) {
    return database.damaged("outbox row " + std::to_string(row.id) + " is not as it was written");
  }
  row.state = *known;
  return row;
}

}  // namespace

Status Ledger::enqueue(const OutboxRow& row) {
  return impl_->database->run(
      "INSERT INTO outbox (team, batch, inbox, key, entry, request_id, sum, state, attempts, created_ms, next_ms, "
      "last_problem) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
      row.team, row.batch, row.inbox, row.key.value, Blob{row.entry}, row.request_id, sum_of(row), to_string(row.state),
      row.attempts, row.created_ms, row.next_ms, row.last_problem);
}

Result<std::vector<OutboxRow>> Ledger::due(std::string_view team, EpochMs now, int limit) {
  Database& database = *impl_->database;
  const std::string sql = select_outbox + "WHERE " + heads + "AND next_ms <= ?2 ORDER BY id LIMIT ?3";
  return all_rows(database.query(sql, team, now, limit), read_outbox, database);
}

Result<std::vector<OutboxRow>> Ledger::outbox_of_request(std::string_view team, std::string_view request_id) {
  Database& database = *impl_->database;
  const std::string sql = select_outbox + "WHERE team = ?1 AND request_id = ?2 ORDER BY id";
  return all_rows(database.query(sql, team, request_id), read_outbox, database);
}

Result<std::vector<OutboxRow>> Ledger::written(std::string_view team) {
  Database& database = *impl_->database;
  const std::string sql = select_outbox + "WHERE team = ?1 AND state = 'written' ORDER BY id";
  return all_rows(database.query(sql, team), read_outbox, database);
}

Status Ledger::set_effect(long long id, EffectState state, int attempts, EpochMs next_ms, std::string_view problem) {
  Database& database = *impl_->database;
  auto set = database.run("UPDATE outbox SET state = ?2, attempts = ?3, next_ms = ?4, last_problem = ?5 WHERE id = ?1",
                          id, to_string(state), attempts, next_ms, problem);
  if (!set) return set;
  if (database.changes() == 1) return Done{};
  return Error{"ledger.sql", database.path() + ": there is no outbox row " + std::to_string(id)};
}

Status Ledger::resend(std::string_view team, std::string_view request_id, EpochMs now) {
  return impl_->database->run(
      "UPDATE outbox SET state = 'pending', attempts = 0, created_ms = ?3, next_ms = ?3, last_problem = '' "
      "WHERE team = ?1 AND request_id = ?2 AND state <> 'pending'",
      team, request_id, now);
}

Result<long long> Ledger::owed(std::string_view team) {
  return impl_->database->value<long long>("SELECT count(*) FROM outbox WHERE team = ?1 AND state = 'pending'", team);
}

Result<std::optional<EpochMs>> Ledger::next_due(std::string_view team) {
  Statement rows = impl_->database->query(
      "SELECT next_ms FROM outbox WHERE " + std::string(heads) + "ORDER BY next_ms LIMIT 1", team);
  auto row = rows.next();
  if (!row) return row.error();
  if (!*row) return std::optional<EpochMs>();
  EpochMs moment = 0;
  rows.read(moment);
  return std::optional(moment);
}

}  // namespace inbox_poller::poller
