#include "poller/ledger/messages.hpp"

#include <algorithm>

#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {

// Long columns are last, so that SQLite can read the others without them.
const Table<MessageRow>& messages_table() {
  using M = MessageRow;
  using schema::Message;
  static const Table<M> table(
      "messages",
      {number<&M::id>("id"), fixed<&M::key>("key"), fixed<&M::team>("team"), fixed<&M::inbox>("inbox"),
       fixed<&M::sender>("sender"), fixed<&M::type>("type"), fixed<&M::disposition>("disposition"),
       fixed<&M::code>("code"), fixed<&M::reason>("reason"), fixed<&M::request_id>("request_id"),
       fixed<&M::received_ms>("received_ms"), fixed<&M::batch>("batch"), fixed<&M::message, &Message::from>("from_id"),
       fixed<&M::message, &Message::timestamp>("timestamp"), fixed<&M::message, &Message::summary>("summary"),
       fixed<&M::message, &Message::color>("color"), fixed<&M::message, &Message::id>("msg_id"),
       fixed<&M::message, &Message::text>("text"), column_as<BytesCell, &M::raw>(Part::fixed, "raw")},
      "key",
      {"messages_received ON messages (team, received_ms)",
       "messages_quarantine ON messages (team) WHERE disposition IN ('rejected', 'malformed')",
       "messages_request ON messages (request_id, team) WHERE request_id <> ''"},
      [](const M& row) { return "message " + std::to_string(row.id); });
  return table;
}

const std::string& mail_columns() {
  static const std::string columns = messages_table().list("m") + ", " + deliveries_table().list("d");
  return columns;
}

Result<MessageRow> read_mail(const Database& database, const Statement& from) {
  MessageRow row;
  TRY(messages_table().read_into(database, from, row));
  const int delivery = messages_table().width();
  if (from.is_null(delivery)) return row;
  TRY(deliveries_table().read_into(database, from, row, delivery));
  return row;
}

namespace {

std::string mail_where(std::string_view condition) {
  return "SELECT " + mail_columns() + " FROM messages AS m LEFT JOIN deliveries AS d ON d.message = m.id WHERE " +
         std::string(condition);
}

}  // namespace

Result<bool> MessageTable::known(const schema::MessageKey& key) {
  const auto bytes = key_bytes(key.value);
  return bytes ? database_.value<bool>("SELECT 1 FROM messages WHERE key = ?1", Blob{*bytes}) : Result<bool>(false);
}

Result<long long> MessageTable::insert(const MessageRow& row, DeliveryTable::Queued when) {
  const auto before = database_.chat_changes();
  TRY(const auto id, messages_table().insert(database_, row));
  TRY(deliveries_.add(id, row, before, when));
  return id;
}

Result<std::optional<MessageRow>> MessageTable::find(const schema::MessageKey& key) {
  static const std::string sql = mail_where("m.key = ?1");
  const auto bytes = key_bytes(key.value);
  if (!bytes) return std::optional<MessageRow>();
  return first_row<MessageRow>(database_.query(sql, Blob{*bytes}), read_mail, database_);
}

Result<std::vector<MessageRow>> MessageTable::like(std::string_view prefix, int limit) {
  static const std::string sql = mail_where("m.key >= ?1 AND m.key < ?2 ORDER BY m.key LIMIT ?3");
  const auto range = key_range(prefix);
  if (!range) return std::vector<MessageRow>();
  return all_rows<MessageRow>(database_.query(sql, Blob{range->first}, Blob{range->second}, limit), read_mail,
                              database_);
}

Result<std::vector<MessageRow>> MessageTable::latest(const Wanted& wanted, int limit) {
  static const std::string sql = mail_where(
      "(?1 = '' OR m.team = ?1) AND (?2 = '' OR sender = ?2) AND (?3 = '' OR type = ?3) AND received_ms >= ?4 "
      "ORDER BY m.id DESC LIMIT ?5");
  auto rows = all_rows<MessageRow>(
      database_.query(sql, wanted.team, wanted.sender, wanted.type, wanted.since_ms, limit), read_mail, database_);
  if (rows) std::reverse(rows->begin(), rows->end());
  return rows;
}

Result<std::optional<MessageRow>> MessageTable::about(std::string_view team, std::string_view sender,
                                                      std::string_view request_id, std::string_view type) {
  static const std::string sql = mail_where(
      "m.request_id = ?1 AND m.request_id <> '' AND m.team = ?2 AND m.type = ?3 AND m.sender = ?4 ORDER BY m.id DESC LIMIT 1");
  return first_row<MessageRow>(database_.query(sql, request_id, team, type, sender), read_mail, database_);
}

Result<std::vector<MessageRow>> MessageTable::quarantined(std::string_view team, int limit) {
  const std::string sql = mail_where(std::string(team.empty() ? "?1 = ''" : "m.team = ?1") +
                                     " AND m.disposition IN ('rejected', 'malformed') ORDER BY m.id DESC LIMIT ?2");
  return all_rows<MessageRow>(database_.query(sql, team, limit), read_mail, database_);
}

Result<long long> MessageTable::quarantined_count(std::string_view team) {
  return database_.value<long long>(
      "SELECT count(*) FROM messages WHERE team = ?1 AND disposition IN ('rejected', 'malformed')", team);
}

}  // namespace inbox_poller::poller
