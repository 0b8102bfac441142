#include "poller/ledger/take_over.hpp"

#include <cstdio>
#include <functional>
#include <map>
#include <vector>

#include "poller/ledger/ledger_file.hpp"
#include "poller/ledger/old_formats.hpp"
#include "poller/ledger/row_sum.hpp"
#include "poller/ledger/tables.hpp"
#include "poller/mailbox/arrays/array_entry.hpp"

namespace inbox_poller::poller {
namespace {

constexpr int last_old_format = static_cast<int>(old_formats.size());

/// A row of format 4 by the names of its columns.
class OldRow {
 public:
  explicit OldRow(const Statement& from) : from_(from) {
    for (int i = 0; i < from.width(); ++i) {
      auto& cell = cells_[from.name(i)];
      cell.is_number = from.is_number(i);
      from.get(i, cell.number);
      from.get(i, cell.text);
    }
  }
  [[nodiscard]] const Statement& statement() const { return from_; }
  [[nodiscard]] const std::string& text(const char* column) const { return cells_.at(column).text; }
  [[nodiscard]] long long number(const char* column) const { return cells_.at(column).number; }

  /// Is the row's sum that of these columns? What later formats added is in it only where there is something.
  [[nodiscard]] bool fits(const std::vector<const char*>& columns, const std::vector<const char*>& added = {}) const {
    RowSum sum;
    bool has_more = false;
    for (const char* column : added) has_more = has_more || !text(column).empty();
    for (const char* column : columns) add(sum, column);
    for (const char* column : added)
      if (has_more) add(sum, column);
    return sum.value() == number("sum");
  }

 private:
  struct Cell {
    bool is_number = false;
    long long number = 0;
    std::string text;
  };
  void add(RowSum& sum, const char* column) const {
    const auto& cell = cells_.at(column);
    cell.is_number ? sum.add(cell.number) : sum.add(cell.text);
  }
  const Statement& from_;
  std::map<std::string, Cell> cells_;
};

struct OldTable {
  std::string name;
  std::string new_name;
  std::string columns;
  std::function<Status(Database&, OldRow&)> take;
};

/// What an old row's entry says in the new columns. `raw` is kept where they do not say all of it.
void spread(const std::string& entry, bool exact, schema::Message& message, std::string& raw) {
  auto decoded = decode_entry(entry);
  if (decoded) message = std::move(*decoded);
  if (exact || !decoded || says_more(entry, message)) raw = entry;
}

Status take_message(Database& database, OldRow& old) {
  MessageRow row;
  row.id = old.number("id");
  row.team = old.text("team");
  row.inbox = old.text("inbox");
  row.key.value = old.text("key");
  if (!key_bytes(row.key.value)) return database.damaged("message " + std::to_string(row.id) + " has no key");
  row.sender = old.text("sender");
  row.type = old.text("type");
  row.code = old.text("code");
  row.reason = old.text("reason");
  row.request_id = old.text("request_id");
  row.received_ms = old.number("received_ms");
  row.batch = old.number("batch");
  row.sink = old.text("sink");
  row.offered_ms = old.number("offered_ms");
  row.delivered_ms = old.number("delivered_ms");
  row.attempts = static_cast<int>(old.number("attempts"));
  row.priority = static_cast<Priority>(old.number("priority"));
  bool known =
      parse_one_of(old.text("disposition"), row.disposition) && parse_one_of(old.text("confirmed"), row.confirmed);
  if (old.text("delivery") != "none") known = known && parse_one_of(old.text("delivery"), row.delivery);
  if (!known) return database.damaged("message " + std::to_string(row.id) + " is in no state that there is");
  const bool exact = row.disposition == Disposition::refused || row.disposition == Disposition::bad;
  spread(old.text("entry"), exact, row.message, row.raw);
  row.message.timestamp = old.text("timestamp");
  const bool sound = old.fits({"team", "inbox", "key", "sender", "timestamp", "type", "entry", "disposition", "code",
                               "reason", "request_id", "received_ms", "batch"});
  auto taken = messages_table().restore(database, row, sound);
  if (taken && row.delivery != DeliveryState::none) taken = deliveries_table().restore(database, row, true);
  return taken;
}

Status take_owed(Database& database, OldRow& old) {
  OutboxRow row;
  row.id = old.number("id");
  row.team = old.text("team");
  row.batch = old.number("batch");
  row.inbox = old.text("inbox");
  row.key.value = old.text("key");
  row.request_id = old.text("request_id");
  row.attempts = static_cast<int>(old.number("attempts"));
  row.created_ms = old.number("created_ms");
  row.next_ms = old.number("next_ms");
  row.last_problem = old.text("last_problem");
  if (!parse_one_of(old.text("state"), row.state))
    return database.damaged("outbox row " + std::to_string(row.id) + " is in no state that there is");
  const auto& entry = old.text("entry");
  spread(entry, false, row.message, row.raw);
  if (encode_entry(row.message) != entry) row.raw = entry;  // it may have been written, and is looked for
  bool sound = old.fits({"team", "batch", "inbox", "key", "entry", "request_id", "state", "attempts", "created_ms",
                         "next_ms", "last_problem"});
  if (!key_bytes(row.key.value)) {  // damaged: it stays, unreadable
    row.key.value.clear();
    sound = false;
  }
  return outbox_table().restore(database, row, sound);
}

/// A table whose columns have not changed but for their sums and the bytes of keys.
template <class Row>
OldTable same(const char* name, const Table<Row>& table, std::vector<const char*> summed,
              std::vector<const char*> added = {}) {
  return {name, table.text().name, table.names(),
          [&table, summed = std::move(summed), added = std::move(added)](Database& database, OldRow& old) {
            Row row;
            const bool read = table.read_columns(old.statement(), row);
            return table.restore(database, row, read && old.fits(summed, added));
          }};
}

std::vector<OldTable> old_tables() {
  return {
      {"messages", "messages", "*", take_message},
      {"outbox", "outbox", "*", take_owed},
      same("requests", asks_table(), {"team", "kind", "request_id", "asker", "content_hash", "subject", "body",
                                      "description", "suggestions", "state", "asked_ms", "deadline_ms", "decided_ms",
                                      "decided_by", "rule", "reason", "message_key"}),
      same("orders", orders_table(), {"team", "member", "joined_ms", "kind", "subject", "origin", "by", "key",
                                      "sent_ms", "state", "state_ms"}),
      same("history", history_table(), {"at_ms", "team", "message_key", "request_id", "event", "detail"}),
      same("shutdowns", shutdowns_table(),
           {"team", "request_id", "member", "agent_id", "by", "reason", "state", "requested_ms", "nudge_ms",
            "nudged_ms", "force_ms", "timeout_ms", "changed_ms", "term_ms", "kill_ms", "backend", "pane_id", "server",
            "pane", "processes", "left_alone", "survivors", "answer", "tasks", "detail"}),
      same("members", members_table(), {"team", "name", "present", "state", "detail", "last_seen_ms"}, {"task"}),
      same("rules", rules_table(), {"team", "session", "kind", "action", "rule", "by", "at_ms"}),
      same("lead", leads_table(), {"team", "state", "since_ms", "until_ms"}, {"by", "session", "pane"}),
      same("rosters", rosters_table(), {"team", "bytes", "file", "seen_ms"}),
  };
}

Status take_rows(Database& database, const OldTable& table) {
  Statement rows = database.query("SELECT " + table.columns + " FROM old_" + table.name);
  while (true) {
    TRY(auto more, rows.next());
    if (!more) break;
    OldRow row(rows);
    TRY(table.take(database, row));
  }
  return Done{};
}

/// The numbers that were given, also of rows that are gone: none is given again.
std::string numbers_of(const OldTable& table) {
  return "DELETE FROM sqlite_sequence WHERE name = '" + table.new_name + "'; INSERT INTO sqlite_sequence SELECT '" + table.new_name +
         "', seq FROM sqlite_sequence WHERE name = 'old_" + table.name + "'; DROP TABLE old_" + table.name + ";";
}

/// The old tables give their names away, and their indexes go.
Result<std::string> make_room(Database& database, const std::vector<OldTable>& tables) {
  std::string sql;
  for (const auto& table : tables) {
    TRY(auto drops, database.value<std::string>(
        "SELECT group_concat('DROP INDEX \"' || replace(name, '\"', '\"\"') || '\";', ' ') FROM sqlite_schema WHERE type = 'index' AND tbl_name = "
        "?1 AND sql IS NOT NULL",
        table.name));
    sql += drops + "ALTER TABLE " + table.name + " RENAME TO old_" + table.name + ";";
  }
  return sql + "ALTER TABLE daemon RENAME TO old_daemon;";
}

Status rebuild(Database& database, int from) {
  for (int format = from; format < last_old_format; ++format)
    TRY(database.script(old_formats.at(static_cast<std::size_t>(format))));
  const auto tables = old_tables();
  auto room = make_room(database, tables);
  if (!room) return room.error();
  for (const auto& table : described_tables()) *room += table.sql;
  *room += "UPDATE daemon SET batch = (SELECT batch FROM old_daemon); DROP TABLE old_daemon;";
  TRY(database.script(*room));
  for (const auto& table : tables)
    TRY(take_rows(database, table));
  std::string rest;
  for (const auto& table : tables) rest += numbers_of(table);
  return database.script(rest + "PRAGMA user_version = " + std::to_string(ledger_format) + ";");
}

Result<std::string> keep_copy(Database& database, int from) {
  const std::string copy = database.path() + ".format-" + std::to_string(from);
  std::remove(copy.c_str());  // of an earlier try: the ledger itself is still as it was, and the room is needed
  TRY(database.copy_to(copy));
  return copy;
}

}  // namespace

Result<std::string> take_over(Database& database, int from) {
  const std::string doing =
      "taking over a ledger of format " + std::to_string(from) + " (it stays as it was; it takes about as much room "
      "again, twice)";
  auto copy = keep_copy(database, from);
  if (!copy) return in_context(doing, copy.error());
  // A view of a person's own is theirs: it is not to be rewritten to a table that is about to go.
  TRY(database.script("PRAGMA legacy_alter_table = ON"));
  auto done = database.transaction([&] { return rebuild(database, from); });
  static_cast<void>(database.script("PRAGMA legacy_alter_table = OFF").ok());
  if (!done) return in_context(doing, done.error());
  return copy;
}

Status make_old_tables(Database& database, int format) {
  for (int from = 0; from < format; ++from)
    TRY(database.script(old_formats.at(static_cast<std::size_t>(from))));
  return Done{};
}

}  // namespace inbox_poller::poller
