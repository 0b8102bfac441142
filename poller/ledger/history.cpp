#include "poller/ledger/history.hpp"

#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {

const Table<HistoryRow>& history_table() {
  using H = HistoryRow;
  static const Table<H> table(
      "history",
      {number<&H::id>("id"), fixed<&H::at_ms>("at_ms"), fixed<&H::team>("team"),
       column_as<KeyCell, &H::message_key>(Part::fixed, "message_key"), fixed<&H::request_id>("request_id"),
       fixed<&H::event>("event"), fixed<&H::detail>("detail")},
      "",
      {"history_message ON history (message_key) WHERE message_key <> x''",
       "history_request ON history (team, request_id)", "history_time ON history (team, at_ms)"},
      [](const H& row) { return "line " + std::to_string(row.id) + " of the history"; });
  return table;
}

Status HistoryTable::add(const HistoryRow& row) {
  const auto added = history_table().insert(database_, row);
  return added ? Status(Done{}) : added.error();
}

Result<std::vector<HistoryRow>> HistoryTable::of_message(const schema::MessageKey& key) {
  static const std::string sql =
      history_table().select() + "WHERE message_key = ?1 AND message_key <> x'' ORDER BY id";
  const auto bytes = key_bytes(key.value);
  if (!bytes) return std::vector<HistoryRow>();
  return history_table().all(database_, database_.query(sql, Blob{*bytes}));
}

Result<std::vector<HistoryRow>> HistoryTable::of_request(std::string_view team, std::string_view request_id) {
  static const std::string sql = history_table().select() + "WHERE team = ?1 AND request_id = ?2 ORDER BY id";
  return history_table().all(database_, database_.query(sql, team, request_id));
}

}  // namespace inbox_poller::poller
