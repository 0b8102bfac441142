#include "poller/ledger/outbox.hpp"

#include <algorithm>

#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {

const Table<OutboxRow>& outbox_table() {
  using O = OutboxRow;
  using schema::Message;
  static const Table<O> table(
      "outbox",
      {number<&O::id>("id"), fixed<&O::key>("key"), fixed<&O::team>("team"), fixed<&O::batch>("batch"),
       fixed<&O::inbox>("inbox"), fixed<&O::request_id>("request_id"), changing<&O::state>("state"),
       changing<&O::attempts>("attempts"), changing<&O::created_ms>("created_ms"), changing<&O::next_ms>("next_ms"),
       changing<&O::last_problem>("last_problem"), fixed<&O::message, &Message::from>("from_id"),
       fixed<&O::message, &Message::timestamp>("timestamp"), fixed<&O::message, &Message::summary>("summary"),
       fixed<&O::message, &Message::id>("msg_id"), fixed<&O::message, &Message::to_all>("to_all"),
       fixed<&O::message, &Message::text>("text")},
      "",
      {"outbox_pending ON outbox (team, inbox) WHERE state = 'pending'",
       "outbox_written ON outbox (team) WHERE state = 'written'", "outbox_request ON outbox (team, request_id)",
       "outbox_key ON outbox (key)"},
      [](const O& row) { return "outbox row " + std::to_string(row.id); });
  return table;
}

namespace {

std::string outbox_where(std::string_view condition) {
  return outbox_table().select() + "WHERE " + std::string(condition);
}

}  // namespace

Status OutboxTable::enqueue(const OutboxRow& row) {
  const auto id = outbox_table().insert(database_, row);
  return id ? Status(Done{}) : id.error();
}

Result<std::vector<OutboxRow>> OutboxTable::due(std::string_view team, EpochMs now, int limit) {
  // Only the oldest pending row of each inbox, so that replies keep their order. One statement for both would copy the
  // ids into a temporary table, also where nothing is pending, and each poll asks.
  const auto read = [](const Database&, const Statement& row) -> Result<long long> {
    long long id = 0;
    row.read(id);
    return id;
  };
  TRY(auto oldest,
      all_rows<long long>(
          database_.query("SELECT min(id) FROM outbox WHERE team = ?1 AND state = 'pending' GROUP BY inbox", team),
          read, database_));
  std::sort(oldest.begin(), oldest.end());
  // A time later than now + ?3 comes from a clock that was set back since, and is due.
  static const std::string sql = outbox_where("id = ?1 AND (next_ms <= ?2 OR next_ms > ?2 + ?3)");
  std::vector<OutboxRow> rows;
  for (const auto id : oldest) {
    if (static_cast<int>(rows.size()) >= limit) break;
    TRY(auto found, outbox_table().first(database_, database_.query(sql, id, now, retry_after_ms)));
    if (found) rows.push_back(*std::move(found));
  }
  return rows;
}

Result<std::vector<OutboxRow>> OutboxTable::behind(const OutboxRow& row, int limit) {
  static const std::string sql =
      outbox_where("team = ?1 AND state = 'pending' AND inbox = ?2 AND id > ?3 ORDER BY id LIMIT ?4");
  return outbox_table().all(database_, database_.query(sql, row.team, row.inbox, row.id, limit));
}

Result<std::vector<OutboxRow>> OutboxTable::of_request(std::string_view team, std::string_view request_id) {
  static const std::string sql = outbox_where("team = ?1 AND request_id = ?2 ORDER BY id");
  return outbox_table().all(database_, database_.query(sql, team, request_id));
}

Result<std::vector<OutboxRow>> OutboxTable::of_request(std::string_view team, std::string_view inbox,
                                                       std::string_view request_id) {
  auto rows = of_request(team, request_id);
  if (rows) std::erase_if(*rows, [&](const OutboxRow& row) { return row.inbox != inbox; });
  return rows;
}

Result<std::vector<OutboxRow>> OutboxTable::like(std::string_view prefix, int limit) {
  static const std::string sql = outbox_where("key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3");
  const auto range = key_range(prefix);
  if (!range) return std::vector<OutboxRow>();
  return outbox_table().all(database_, database_.query(sql, Blob{range->first}, Blob{range->second}, limit));
}

Result<std::vector<OutboxRow>> OutboxTable::written(std::string_view team) {
  static const std::string sql = outbox_where("team = ?1 AND state = 'written' ORDER BY id");
  return outbox_table().all(database_, database_.query(sql, team));
}

Status OutboxTable::set(long long id, EffectState state, int attempts, EpochMs next_ms, std::string_view problem) {
  static const std::string sql = outbox_where("id = ?1");
  TRY(auto found, outbox_table().first(database_, database_.query(sql, id)));
  if (!found) return Error{"ledger.sql", database_.path() + ": outbox row " + std::to_string(id) + " does not exist"};
  OutboxRow& row = *found;
  row.state = state;
  row.attempts = attempts;
  row.next_ms = next_ms;
  row.last_problem = problem;
  return outbox_table().move(database_, row);
}

Status OutboxTable::resend(std::vector<OutboxRow> rows, EpochMs now) {
  for (OutboxRow& row : rows) {
    if (row.state == EffectState::pending) continue;
    row.state = EffectState::pending;
    row.attempts = 0;
    row.created_ms = now;
    row.next_ms = now;
    row.last_problem.clear();
    TRY(outbox_table().move(database_, row));
  }
  return Done{};
}

Result<long long> OutboxTable::owed(std::string_view team) {
  return database_.value<long long>("SELECT count(*) FROM outbox WHERE team = ?1 AND state = 'pending'", team);
}

Result<bool> OutboxTable::wrote(const schema::MessageKey& key) {
  const auto bytes = key_bytes(key.value);
  return bytes ? database_.value<bool>("SELECT 1 FROM outbox WHERE key = ?1", Blob{*bytes}) : Result<bool>(false);
}

}  // namespace inbox_poller::poller
