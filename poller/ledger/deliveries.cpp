#include "poller/ledger/deliveries.hpp"

#include <algorithm>

#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {

/// Stored as a number, so that SQL can order messages by priority.
template <>
struct Cell<Priority> : Cell<int> {
  static std::string declared(std::string_view name) {
    return "INTEGER NOT NULL CHECK (" + std::string(name) + " BETWEEN 0 AND 2)";
  }
  static void bind(Statement& to, int index, Priority value) { to.bind(index, static_cast<long long>(value)); }
  static bool read(const Statement& from, int column, Priority& value) {
    int number = 0;
    from.get(column, number);
    value = static_cast<Priority>(number);
    return number >= 0 && number <= 2;
  }
  static void add(RowHash& hash, Priority value) { hash.add(static_cast<long long>(value)); }
};

// Narrow and without a sum, so that one statement can move many rows without reading them. The index repeats the
// columns that decide, so that the integrity check of the next start finds a changed bit.
const Table<MessageRow>& deliveries_table() {
  using M = MessageRow;
  static const Table<M> table(
      "deliveries",
      {loose<&M::id>("message"), loose<&M::team>("team"), loose<&M::delivery>("state"),
       loose<&M::priority>("priority"), loose<&M::confirmed>("confirmed"), loose<&M::method>("method"),
       loose<&M::offered_ms>("offered_ms"), loose<&M::delivered_ms>("delivered_ms"), loose<&M::attempts>("attempts")},
      "message", {"deliveries_state ON deliveries (state, team, priority, confirmed)"},
      [](const M& row) { return "the delivery of message " + std::to_string(row.id); });
  return table;
}

namespace {

/// Joins deliveries first, because their index gives the order. SQLite then reads only the messages that it needs.
const std::string with_message = " FROM deliveries AS d CROSS JOIN messages AS m ON m.id = d.message WHERE ";

std::string delivery_where(std::string_view condition) {
  return "SELECT " + mail_columns() + with_message + std::string(condition);
}

/// Condition that the batch is older than the first batch with a young pending reply. A reply created more than 60 s
/// after ?2 counts as old, because the clock was set back while the daemon was down. `of_any_age` names the parameter
/// that makes every pending reply count as young.
std::string may_go(const std::string& of_any_age) {
  return " AND m.batch < coalesce((SELECT min(batch) FROM outbox WHERE team = ?1 AND state = 'pending' AND (" +
         of_any_age + " OR created_ms > ?2 AND created_ms <= ?2 + 60000)), 9223372036854775807) ";
}

}  // namespace

Result<std::vector<MessageRow>> DeliveryTable::ready_messages(std::string_view team, EpochMs grace_before_ms, int limit,
                                                         std::optional<Overdue> overdue, Owed owed) {
  const int of_any_age = owed == Owed::of_any_age ? 1 : 0;
  TRY(const auto urgent, database_.value<bool>(
      "SELECT 1 FROM deliveries WHERE state = 'queued' AND team = ?1 AND priority = 2 LIMIT 1", team));
  if (!urgent && !overdue) {  // the usual case; the index gives the order
    static const std::string usual =
        delivery_where("d.state = 'queued' AND d.team = ?1 AND d.priority = 1 AND d.confirmed = ''" + may_go("?4") +
                   "ORDER BY d.message LIMIT ?3");
    return all_rows<MessageRow>(database_.query(usual, team, grace_before_ms, limit, of_any_age), read_mail, database_);
  }
  // A message gets the rank of its sender's most urgent later message, because it must go before that one.
  static const std::string ranked =
      "SELECT " + mail_columns() +
      " FROM (SELECT m.id AS ranked, max(d.priority) OVER later AS rank, max(CASE WHEN m.received_ms > ?2 + 60000 THEN "
      "0 ELSE m.received_ms END <= CASE d.priority WHEN 2 THEN ?4 ELSE ?3 END) OVER later AS overdue" +
      with_message + "d.state = 'queued' AND d.team = ?1 AND d.priority > 0" + may_go("?7") +
      "WINDOW later AS (PARTITION BY m.sender ORDER BY m.id DESC)) CROSS JOIN deliveries AS d ON d.message = ranked "
      "CROSS JOIN messages AS m ON m.id = ranked WHERE overdue OR ?5 ORDER BY rank DESC, m.id LIMIT ?6";
  const Overdue limits = overdue.value_or(Overdue{});
  return all_rows<MessageRow>(database_.query(ranked, team, grace_before_ms, limits.chat_before_ms,
                                              limits.urgent_before_ms, overdue ? 0 : 1, limit, of_any_age),
                              read_mail, database_);
}

Result<std::vector<MessageRow>> DeliveryTable::queued(std::string_view team, int limit, EpochMs received_by_ms) {
  static const std::string sql = delivery_where("d.state = 'queued' AND d.team = ?1 AND m.received_ms <= ?2 LIMIT ?3");
  return all_rows<MessageRow>(database_.query(sql, team, received_by_ms, limit), read_mail, database_);
}

Result<std::vector<MessageRow>> DeliveryTable::digest_material(std::string_view team, int limit) {
  static const std::string sql = delivery_where(
      "d.state = 'queued' AND d.team = ?1 AND d.priority = 0 AND d.confirmed = '' ORDER BY d.message LIMIT ?2");
  return all_rows<MessageRow>(database_.query(sql, team, limit), read_mail, database_);
}

Result<std::vector<MessageRow>> DeliveryTable::offered(std::string_view team) {
  const std::string sql =
      delivery_where(std::string("d.state = 'offered' AND ") + (team.empty() ? "?1 = ''" : "d.team = ?1") + " ORDER BY d.message");
  return all_rows<MessageRow>(database_.query(sql, team), read_mail, database_);
}

// The unary plus below makes SQLite find the rows by their few ids, and not by the index on the state.

namespace {

/// Condition for the rows with these ids, and its parameters ?1 and ?2. Ids that follow each other are named by their
/// bounds, because SQLite copies a list into a temporary table, which costs more than the change of a row.
struct OneOf {
  explicit OneOf(const std::vector<long long>& ids) {
    const auto gap = std::adjacent_find(ids.begin(), ids.end(), [](auto one, auto next) { return next != one + 1; });
    if (ids.empty() || gap != ids.end()) {
      first = json_list(ids);
    } else {
      condition = ids.size() == 1 ? "message = ?1 AND ?2 = ?1" : "message BETWEEN ?1 AND ?2";
      first = std::to_string(ids.front());
      last = std::to_string(ids.back());
    }
  }
  std::string condition = "message IN (SELECT value FROM json_each(?1)) AND ?2 = ''";
  std::string first, last;
};

}  // namespace

Status DeliveryTable::mark_offered(const std::vector<long long>& ids, std::string_view method, EpochMs now) {
  const auto before = database_.chat_changes();
  const OneOf rows(ids);
  auto moved = database_.run(
      "UPDATE deliveries SET state = 'offered', method = ?3, offered_ms = ?4, attempts = attempts + 1 WHERE " +
          rows.condition + " AND +state = 'queued'",
      rows.first, rows.last, method, now);
  keep_count(before);
  return moved;
}

Result<std::vector<long long>> DeliveryTable::mark_delivered(const std::vector<long long>& ids, EpochMs now,
                                                             Confirmation confirmed) {
  // `queued` too: an acknowledgment that arrives after the lease has ended is still true.
  struct Delivered {
    long long id = 0;
    std::string team, sender;
  };
  const OneOf rows(ids);
  const std::string condition = rows.condition + " AND +state IN ('queued', 'offered')";
  const std::string which = "SELECT d.message, iif(d.priority > 0, d.team, ''), m.sender" + with_message + condition;
  const auto read = [](const Database&, const Statement& row) -> Result<Delivered> {
    Delivered one;
    row.read(one.id, one.team, one.sender);
    return one;
  };
  TRY(const auto delivered, all_rows<Delivered>(database_.query(which, rows.first, rows.last), read, database_));
  const auto before = database_.chat_changes();
  TRY(database_.run(  // twice as fast as RETURNING, which collects its rows in a temporary table
      "UPDATE deliveries SET state = 'delivered', delivered_ms = ?3, confirmed = ?4 WHERE " + condition, rows.first,
      rows.last, now, to_string(confirmed)));
  keep_count(before);
  std::vector<long long> found;
  for (const auto& one : delivered) {
    found.push_back(one.id);
    count(one.team, one.sender, -1);
  }
  return found;
}

Status DeliveryTable::mark_expired(const std::vector<long long>& ids, EpochMs now) {
  return database_.run(
      "UPDATE deliveries SET state = 'expired', delivered_ms = ?2 "
      "WHERE message IN (SELECT value FROM json_each(?1)) AND +state IN ('queued', 'offered')",
      json_list(ids), now);
}

Status DeliveryTable::requeue(std::string_view team, const std::vector<long long>& ids) {
  const auto before = database_.chat_changes();
  auto moved = database_.run(
      "UPDATE deliveries SET state = 'queued' "
      "WHERE message IN (SELECT value FROM json_each(?2)) AND +team = ?1 AND +state = 'offered'",
      team, json_list(ids));
  keep_count(before);
  return moved;
}

Status DeliveryTable::return_unseen(const std::vector<long long>& ids) {
  const auto before = database_.chat_changes();
  auto moved = database_.run(
      "UPDATE deliveries SET state = 'queued', attempts = attempts - 1 "
      "WHERE message IN (SELECT value FROM json_each(?1)) AND +state = 'offered' AND attempts > 0",
      json_list(ids));
  keep_count(before);
  return moved;
}

Status DeliveryTable::hand_over(const std::vector<long long>& ids, EpochMs now) {
  return database_.run(
      "UPDATE deliveries SET state = 'expired', delivered_ms = ?2, method = '@leader' "
      "WHERE message IN (SELECT value FROM json_each(?1)) AND +state = 'queued'",
      json_list(ids), now);
}

Status DeliveryTable::take_up(const schema::MessageKey& key, std::string_view sender) {
  const auto bytes = key_bytes(key.value);
  if (!bytes) return Done{};
  return database_.run(
      "UPDATE deliveries SET state = 'queued', delivered_ms = 0, method = '', attempts = max(attempts, 1) WHERE "
      "message IN (SELECT id FROM messages "
      "WHERE key = ?1 AND sender = ?2) AND +state = 'expired' AND method = '@leader'",
      Blob{*bytes}, sender);
}

Status DeliveryTable::adopt(const MessageRow& message) {
  const auto before = database_.chat_changes();
  TRY(auto queued, database_.run(
      "INSERT INTO deliveries (message, team, state, priority, confirmed, method, offered_ms, delivered_ms, attempts) "
      "SELECT id, team, 'queued', 1, '', '', 0, 0, 0 FROM messages WHERE id = ?1 AND disposition = 'chat' "
      "ON CONFLICT (message) DO NOTHING",
      message.id));
  keep_count(before);
  if (database_.changes() > 0) count(message.team, message.sender, 1);
  return queued;
}

Status DeliveryTable::requeue_all_offered() {
  return database_.run("UPDATE deliveries SET state = 'queued' WHERE state = 'offered'");
}

Result<long long> DeliveryTable::queued_count(std::string_view team) {
  TRY(const auto waits, waiting(team));
  // At most a few batches are offered, and any number is queued.
  TRY(const auto offered,
      database_.value<long long>(
          "SELECT count(*) FROM deliveries WHERE state = 'offered' AND team = ?1 AND priority > 0", team));
  return waits->all - offered;
}

Result<bool> DeliveryTable::anything_queued(std::string_view team) {
  return database_.value<bool>(
      "SELECT 1 FROM deliveries WHERE state = 'queued' AND team = ?1 AND (priority > 0 OR confirmed = '') LIMIT 1", team);
}

Result<ChatCounts> DeliveryTable::counts(std::string_view team) {
  ChatCounts counts;
  const std::string count = "SELECT count(*) FROM deliveries WHERE team = ?1 AND state = ";
  const std::pair<std::string, long long ChatCounts::*> wanted[] = {
      {count + "'queued' AND priority > 0", &ChatCounts::queued},
      {count + "'queued' AND priority = 0", &ChatCounts::digest},
      {count + "'offered'", &ChatCounts::offered},
      {count + "'delivered' AND priority > 0", &ChatCounts::delivered},
      {count + "'delivered' AND priority > 0 AND confirmed = 'assumed'", &ChatCounts::assumed},
      {count + "'expired' AND priority > 0", &ChatCounts::expired}};
  for (const auto& [sql, member] : wanted) {
    TRY(const auto found, database_.value<long long>(sql, team));
    counts.*member = found;
  }
  static const std::string oldest_sql =
      "SELECT m.received_ms" + with_message +
      "d.state = 'queued' AND d.team = ?1 AND d.priority = ?2 AND d.confirmed = '' ORDER BY d.message LIMIT 1";
  for (const int priority : {1, 2}) {
    TRY(const auto oldest, database_.value<long long>(oldest_sql, team, priority));
    if (oldest != 0 && (counts.oldest_queued_ms == 0 || oldest < counts.oldest_queued_ms))
      counts.oldest_queued_ms = oldest;
  }
  return counts;
}

Status DeliveryTable::queue(std::string_view team, Priority priority, const std::vector<long long>& ids) {
  const auto before = database_.chat_changes();
  const OneOf rows(ids);
  // The ids of a run are read from the messages, which were written just now.
  const std::string from = rows.last.empty()
                               ? "value, ?3, 'queued', ?4, '', '', 0, 0, 0 FROM json_each(?1) WHERE ?2 = ''"
                               : "id, ?3, 'queued', ?4, '', '', 0, 0, 0 FROM messages WHERE id BETWEEN ?1 AND ?2";
  auto queued = database_.run(
      "INSERT INTO deliveries (message, team, state, priority, confirmed, method, offered_ms, "
      "delivered_ms, attempts) SELECT " +
          from,
      rows.first, rows.last, team, static_cast<long long>(priority));
  keep_count(before);
  return queued;
}

Status DeliveryTable::add(long long id, const MessageRow& message, long long before, Queued when) {
  if (message.delivery != DeliveryState::none && when == Queued::now) {
    MessageRow delivery;  // only the columns of this table, because a message's text may be long
    delivery.id = id;
    delivery.team = message.team;
    delivery.delivery = message.delivery;
    delivery.priority = message.priority;
    delivery.confirmed = message.confirmed;
    delivery.method = message.method;
    delivery.offered_ms = message.offered_ms;
    delivery.delivered_ms = message.delivered_ms;
    delivery.attempts = message.attempts;
    TRY(deliveries_table().insert(database_, delivery));
  }
  keep_count(before);
  const bool waits = message.delivery == DeliveryState::queued || message.delivery == DeliveryState::offered;
  if (waits && message.priority != Priority::digest) count(message.team, message.sender, 1);
  return Done{};
}

void DeliveryTable::keep_count(long long before) {
  if (counted_at_ == before) counted_at_ = database_.chat_changes();
}

void DeliveryTable::count(std::string_view team, std::string_view sender, long long more) {
  const auto known = waiting_.find(team);
  if (counted_at_ != database_.chat_changes() || known == waiting_.end()) return;  // waiting() counts then
  known->second.all += more;
  const auto of = known->second.by_sender.try_emplace(std::string(sender)).first;
  of->second += more;
  if (of->second <= 0) known->second.by_sender.erase(of);
}

Result<const WaitingChat*> DeliveryTable::waiting(std::string_view team) {
  if (counted_at_ != database_.chat_changes()) waiting_.clear();
  counted_at_ = database_.chat_changes();
  if (const auto known = waiting_.find(team); known != waiting_.end()) return &known->second;
  static const std::string sql =
      "SELECT m.sender, count(*)" + with_message +
      "d.state IN ('queued', 'offered') AND d.team = ?1 AND d.priority > 0 GROUP BY m.sender";
  Statement rows = database_.query(sql, team);
  WaitingChat waiting;
  for (;;) {
    TRY(auto row, rows.next());
    if (!row) return &(waiting_[std::string(team)] = std::move(waiting));
    std::string sender;
    long long count = 0;
    rows.read(sender, count);
    waiting.all += count;
    waiting.by_sender[sender] = count;
  }
}

}  // namespace inbox_poller::poller
