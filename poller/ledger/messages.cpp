// Messages: accepted, known again, and, when they are chat, on their way to the lead.
#include <algorithm>
#include <initializer_list>

#include "poller/ledger/deliveries.hpp"
#include "poller/ledger/messages.hpp"
#include "poller/ledger/row_sum.hpp"
#include "poller/ledger/sqlite.hpp"
#include "poller/ledger/texts.hpp"

namespace inbox_poller::poller {

std::string_view to_string(Disposition disposition) {
  switch (disposition) {
    case Disposition::chat: return "chat";
    case Disposition::control: return "control";
    case Disposition::status: return "status";
    case Disposition::refused: return "refused";
    case Disposition::duplicate: return "duplicate";
    case Disposition::bad: return "bad";
  }
  return "";
}

std::string_view to_string(DeliveryState state) {
  switch (state) {
    case DeliveryState::none: return "none";
    case DeliveryState::queued: return "queued";
    case DeliveryState::offered: return "offered";
    case DeliveryState::delivered: return "delivered";
    case DeliveryState::expired: return "expired";
  }
  return "";
}

std::string_view to_string(Confirmation confirmation) {
  switch (confirmation) {
    case Confirmation::none: return "";
    case Confirmation::acknowledged: return "acknowledged";
    case Confirmation::assumed: return "assumed";
  }
  return "";
}

std::optional<Disposition> parse_disposition(std::string_view text) {
  return parse(text, {Disposition::chat, Disposition::control, Disposition::status, Disposition::refused,
                      Disposition::duplicate, Disposition::bad});
}

std::optional<DeliveryState> parse_delivery_state(std::string_view text) {
  return parse(text, {DeliveryState::none, DeliveryState::queued, DeliveryState::offered, DeliveryState::delivered,
                      DeliveryState::expired});
}

std::optional<Confirmation> parse_confirmation(std::string_view text) {
  return parse(text, {Confirmation::none, Confirmation::acknowledged, Confirmation::assumed});
}

std::string json_list(const std::vector<long long>& ids) {
  std::string text = "[";
  for (const long long id : ids) {
    if (text.size() > 1) text += ',';
    text += std::to_string(id);
  }
  return text + "]";
}

namespace {

const std::string select_messages =
    "SELECT id, team, inbox, key, sender, timestamp, type, entry, disposition, code, reason, request_id, received_ms, "
    "batch, "
    "sum, delivery, sink, offered_ms, delivered_ms, attempts, confirmed, priority FROM messages ";

long long sum_of(const MessageRow& row) {
  return row_sum(row.team, row.inbox, row.key.value, row.sender, row.timestamp, row.type, row.entry,
                 to_string(row.disposition), row.code, row.reason, row.request_id, row.received_ms, row.batch);
}

Result<MessageRow> read_message(const Database& database, const Statement& from) {
  MessageRow row;
  std::string disposition;
  std::string delivery;
  std::string confirmed;
  int priority = 0;
  long long sum = 0;
  from.read(row.id, row.team, row.inbox, row.key.value, row.sender, row.timestamp, row.type, row.entry, disposition,
            row.code, row.reason, row.request_id, row.received_ms, row.batch, sum, delivery, row.sink, row.offered_ms,
            row.delivered_ms, row.attempts, confirmed, priority);
  const auto known_disposition = parse_disposition(disposition);
  const auto known_delivery = parse_delivery_state(delivery);
  const auto known_confirmation = parse_confirmation(confirmed);
  if (known_disposition && known_delivery && known_confirmation && priority >= 0 && priority <= 2) {
    row.disposition = *known_disposition;
    row.delivery = *known_delivery;
    row.confirmed = *known_confirmation;
    row.priority = static_cast<Priority>(priority);
    if (sum == sum_of(row)) return row;
  }
  return database.damaged("message " + std::to_string(row.id) + " is not as it was written");
}

}  // namespace

Result<bool> MessageTable::known(const schema::MessageKey& key) {
  return database_.value<bool>("SELECT 1 FROM messages WHERE key = ?1", key.value);
}

Result<long long> MessageTable::insert(const MessageRow& row) {
  auto inserted = database_.run(
      "INSERT INTO messages (team, inbox, key, sender, timestamp, type, entry, disposition, code, reason, request_id, "
      "received_ms, batch, sum, delivery, sink, offered_ms, delivered_ms, attempts, confirmed, priority) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
      row.team, row.inbox, row.key.value, row.sender, row.timestamp, row.type, Blob{row.entry},
      to_string(row.disposition), row.code, row.reason, row.request_id, row.received_ms, row.batch, sum_of(row),
      to_string(row.delivery), row.sink, row.offered_ms, row.delivered_ms, row.attempts, to_string(row.confirmed),
      static_cast<int>(row.priority));
  if (!inserted) return inserted.error();
  return database_.last_id();
}

Result<std::optional<MessageRow>> MessageTable::find(const schema::MessageKey& key) {
  return first_row(database_.query(select_messages + "WHERE key = ?1", key.value), read_message, database_);
}

Result<std::vector<MessageRow>> MessageTable::like(std::string_view prefix, int limit) {
  // A range, not LIKE: it uses the index, and nothing in the prefix is a pattern. Keys are ASCII, so 0xff ends the
  // range.
  const std::string end = std::string(prefix) + '\xff';
  return all_rows(
      database_.query(select_messages + "WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3", prefix, end, limit),
      read_message, database_);
}

Result<std::vector<MessageRow>> MessageTable::latest(const Wanted& wanted, int limit) {
  auto rows = all_rows(database_.query(select_messages + "WHERE (?1 = '' OR team = ?1) AND (?2 = '' OR sender = ?2) AND "
                                                        "(?3 = '' OR type = ?3) AND received_ms >= ?4 "
                                                        "ORDER BY id DESC LIMIT ?5",
                                      wanted.team, wanted.sender, wanted.type, wanted.since_ms, limit),
                       read_message, database_);
  if (rows) std::reverse(rows->begin(), rows->end());
  return rows;
}

Result<std::optional<MessageRow>> MessageTable::about(std::string_view team, std::string_view request_id,
                                                        std::string_view type) {
  return first_row(database_.query(select_messages + "WHERE request_id = ?1 AND request_id <> '' AND team = ?2 AND "
                                                    "type = ?3 ORDER BY id DESC LIMIT 1",
                                  request_id, team, type),
                   read_message, database_);
}

Result<std::vector<MessageRow>> MessageTable::quarantined(std::string_view team, int limit) {
  const std::string sql = select_messages + (team.empty() ? "WHERE ?1 = '' AND" : "WHERE team = ?1 AND") +
                          " disposition IN ('refused', 'bad') ORDER BY id DESC LIMIT ?2";
  return all_rows(database_.query(sql, team, limit), read_message, database_);
}

Result<long long> MessageTable::quarantined_count(std::string_view team) {
  Statement rows = database_.query(
      "SELECT count(*) FROM messages WHERE team = ?1 AND disposition IN ('refused', 'bad')", team);
  auto row = rows.next();
  if (!row) return row.error();
  long long count = 0;
  rows.read(count);
  return count;
}

namespace {

/// A batch may go when no batch up to it owes a young effect; so all batches before the first that owes one. What seems
/// to come from the future was recorded before the clock was put back while we were down: it is old. `of_any_age` is
/// the parameter that says that all are to be taken for young.
std::string may_go(const std::string& of_any_age) {
  return " AND batch < coalesce((SELECT min(batch) FROM outbox WHERE team = ?1 AND state = 'pending' AND (" +
         of_any_age + " OR created_ms > ?2 AND created_ms <= ?2 + 60000)), 9223372036854775807) ";
}

}  // namespace

Result<std::vector<MessageRow>> DeliveryTable::offerable(std::string_view team, EpochMs grace_before_ms, int limit,
                                                  std::optional<Overdue> overdue, Owed owed) {
  const int of_any_age = owed == Owed::of_any_age ? 1 : 0;
  const auto urgent = database_.value<bool>(
      "SELECT 1 FROM messages WHERE delivery = 'queued' AND team = ?1 AND priority = 2 LIMIT 1", team);
  if (!urgent) return urgent.error();
  if (!*urgent && !overdue)  // the usual case, in the order of the index
    return all_rows(database_.query(select_messages + "WHERE team = ?1 AND delivery = 'queued' AND priority = 1" +
                                       may_go("?4") + "ORDER BY id LIMIT ?3",
                                   team, grace_before_ms, limit, of_any_age),
                    read_message, database_);
  // A message ranks as high as the highest that its sender wrote after it: it has to go first.
  const std::string sql =
      select_messages +
      "JOIN (SELECT id AS ranked, max(priority) OVER later AS rank, "
      "max(CASE WHEN received_ms > ?2 + 60000 THEN 0 ELSE received_ms END <= CASE priority WHEN 2 THEN ?4 ELSE ?3 END) "
      "OVER later AS overdue FROM messages "
      "WHERE team = ?1 AND delivery = 'queued' AND priority > 0" +
      may_go("?7") +
      "WINDOW later AS (PARTITION BY sender ORDER BY id DESC)) ON id = ranked "
      "WHERE overdue OR ?5 ORDER BY rank DESC, id LIMIT ?6";
  const Overdue limits = overdue.value_or(Overdue{});
  return all_rows(database_.query(sql, team, grace_before_ms, limits.chat_before_ms, limits.urgent_before_ms,
                                 overdue ? 0 : 1, limit, of_any_age),
                  read_message, database_);
}

Result<std::vector<MessageRow>> DeliveryTable::queued_before(std::string_view team, EpochMs received_before_ms, int limit) {
  return all_rows(database_.query(select_messages + "WHERE team = ?1 AND delivery = 'queued' AND received_ms <= ?2 "
                                                   "LIMIT ?3",
                                 team, received_before_ms, limit),
                  read_message, database_);
}

Result<std::vector<MessageRow>> DeliveryTable::digest_material(std::string_view team, int limit) {
  return all_rows(database_.query(select_messages + "WHERE team = ?1 AND delivery = 'queued' AND priority = 0 "
                                                   "ORDER BY id LIMIT ?2",
                                 team, limit),
                  read_message, database_);
}

Status DeliveryTable::mark_offered(const std::vector<long long>& ids, std::string_view sink, EpochMs now) {
  return database_.run(
      "UPDATE messages SET delivery = 'offered', sink = ?2, offered_ms = ?3, attempts = attempts + 1 "
      "WHERE id IN (SELECT value FROM json_each(?1)) AND delivery = 'queued'",
      json_list(ids), sink, now);
}

Status DeliveryTable::mark_delivered(const std::vector<long long>& ids, EpochMs now, Confirmation confirmed) {
  // `queued` too: an acknowledgement may come after we gave up waiting for it, and is still true.
  return database_.run(
      "UPDATE messages SET delivery = 'delivered', delivered_ms = ?2, confirmed = ?3 "
      "WHERE id IN (SELECT value FROM json_each(?1)) AND delivery IN ('queued', 'offered')",
      json_list(ids), now, to_string(confirmed));
}

Status DeliveryTable::mark_expired(const std::vector<long long>& ids, EpochMs now) {
  return database_.run(
      "UPDATE messages SET delivery = 'expired', delivered_ms = ?2 "
      "WHERE id IN (SELECT value FROM json_each(?1)) AND delivery IN ('queued', 'offered')",
      json_list(ids), now);
}

Result<std::vector<MessageRow>> DeliveryTable::offered(std::string_view team) {
  const std::string sql =
      select_messages + "WHERE delivery = 'offered' AND " + (team.empty() ? "?1 = ''" : "team = ?1") + " ORDER BY id";
  return all_rows(database_.query(sql, team), read_message, database_);
}

Status DeliveryTable::requeue(std::string_view team, const std::vector<long long>& ids) {
  return database_.run(
      "UPDATE messages SET delivery = 'queued' "
      "WHERE id IN (SELECT value FROM json_each(?2)) AND team = ?1 AND delivery = 'offered'",
      team, json_list(ids));
}

Status DeliveryTable::unoffer(const std::vector<long long>& ids) {
  return database_.run(
      "UPDATE messages SET delivery = 'queued', attempts = attempts - 1 "
      "WHERE id IN (SELECT value FROM json_each(?1)) AND delivery = 'offered' AND attempts > 0",
      json_list(ids));
}

Status DeliveryTable::take_over(const schema::MessageKey& key) {
  return database_.run(
      "UPDATE messages SET delivery = 'queued' WHERE key = ?1 AND delivery = 'none' AND disposition = 'chat'",
      key.value);
}

Status DeliveryTable::requeue_all_offered() {
  return database_.run("UPDATE messages SET delivery = 'queued' WHERE delivery = 'offered'");
}

Result<long long> DeliveryTable::queued_count(std::string_view team) {
  return database_.value<long long>(
      "SELECT count(*) FROM messages WHERE delivery = 'queued' AND team = ?1 AND priority > 0", team);
}

Result<ChatCounts> DeliveryTable::counts(std::string_view team) {
  ChatCounts counts;
  const auto queued = queued_count(team);
  if (!queued) return queued.error();
  counts.queued = *queued;
  const std::string count = "SELECT count(*) FROM messages WHERE ";
  const std::pair<std::string, long long ChatCounts::*> wanted[] = {
      {count + "delivery = 'queued' AND team = ?1 AND priority = 0", &ChatCounts::digest},
      {count + "delivery = 'offered' AND team = ?1", &ChatCounts::offered},
      {count + "delivery = 'delivered' AND team = ?1 AND priority > 0", &ChatCounts::delivered},
      {count + "delivery = 'expired' AND team = ?1 AND priority > 0", &ChatCounts::expired},
      {count + "confirmed = 'assumed' AND team = ?1", &ChatCounts::assumed}};
  for (const auto& [sql, member] : wanted) {
    const auto found = database_.value<long long>(sql, team);
    if (!found) return found.error();
    counts.*member = *found;
  }
  for (const int priority : {1, 2}) {
    const auto oldest = database_.value<long long>(
        "SELECT received_ms FROM messages WHERE delivery = 'queued' AND team = ?1 AND priority = ?2 ORDER BY id LIMIT "
        "1",
        team, priority);
    if (!oldest) return oldest.error();
    if (*oldest != 0 && (counts.oldest_queued_ms == 0 || *oldest < counts.oldest_queued_ms))
      counts.oldest_queued_ms = *oldest;
  }
  return counts;
}

Result<std::map<std::string, long long>> DeliveryTable::waiting_by_sender(std::string_view team) {
  Statement rows = database_.query(
      "SELECT sender, count(*) FROM messages WHERE delivery IN ('queued', 'offered') AND team = ?1 AND priority > 0 "
      "GROUP BY sender",
      team);
  std::map<std::string, long long> waiting;
  for (;;) {
    auto row = rows.next();
    if (!row) return row.error();
    if (!*row) return waiting;
    std::string sender;
    long long count = 0;
    rows.read(sender, count);
    waiting[sender] = count;
  }
}

}  // namespace inbox_poller::poller
