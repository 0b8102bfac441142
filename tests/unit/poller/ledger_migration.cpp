// From files of formats 1, 2 and 3, made by their migrations and filled as their programs did, to today's.
#include <sys/stat.h>

#include "ledger_support.hpp"
#include "poller/ledger/row_sum.hpp"
#include "poller/ledger/schema.sql.hpp"

namespace inbox_poller::poller::test {
namespace {

std::string number(long long value) { return std::to_string(value); }

/// Rows as format 1 wrote them, their sums over the columns that it had.
std::string format_1(const std::string& path) {
  Operator old(path);
  REQUIRE(old.run(ledger_migrations[0]) == SQLITE_OK);
  const auto member = row_sum("red", "ann", 1, "idle", "", 5);
  const auto deny = row_sum("red", "s", "permission", "deny", "Bash(rm:*)", "mona", 5);
  const auto host = row_sum("red", "s", "host", "allow", "example.org", "mona", 6);
  const auto message = row_sum("red", "team-lead", "k1", "ann", "t", "text", "{}", "chat", "", "", "", 1000, 1);
  REQUIRE(old.run("INSERT INTO members VALUES ('red', 'ann', 1, 'idle', '', 5, " + number(member) + ");" +
                  "INSERT INTO rules VALUES (3, 'red', 's', 'permission', 'deny', 'Bash(rm:*)', 'mona', 5, " +
                  number(deny) + "), (7, 'red', 's', 'host', 'allow', 'example.org', 'mona', 6, " + number(host) +
                  ");" + "INSERT INTO rules VALUES (9, 'red', 's', 'host', 'allow', 'x', 'x', 6, 0);" +
                  "DELETE FROM rules WHERE id = 9;" +  // its number stays used
                  "INSERT INTO messages VALUES (1, 'red', 'team-lead', 'k1', 'ann', 't', 'text', x'7b7d', 'chat', '', "
                  "'', '', 1000, 1, " +
                  number(message) + ", 'queued', '', 0, 0, 0);" + "UPDATE daemon SET batch = 41") == SQLITE_OK);
  REQUIRE(old.run("PRAGMA application_id = " + number(ledger_application_id) + "; PRAGMA user_version = 1") ==
          SQLITE_OK);
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  return path;
}

/// Rows as format 2 wrote them: a message in each state of delivery, an ask, a lead that is busy.
std::string format_2(const std::string& path) {
  Operator old(path);
  REQUIRE(old.run(std::string(ledger_migrations[0]) + ledger_migrations[1]) == SQLITE_OK);
  std::string sql;
  const char* states[] = {"none", "queued", "offered", "delivered"};
  for (int i = 0; i < 4; ++i) {
    const std::string key = "k" + number(i + 1);
    const auto sum = row_sum("red", "team-lead", key, "ann", "t", "text", "{}", "chat", "", "", "r-1", 1000, 7);
    sql += "INSERT INTO messages VALUES (" + number(i + 3) + ", 'red', 'team-lead', '" + key +
           "', 'ann', 't', 'text', x'7b7d', 'chat', '', '', 'r-1', 1000, 7, " + number(sum) + ", '" + states[i] +
           "', 'exec', 1001, 1002, " + number(i) + ");";
  }
  const auto ask =
      row_sum("red", "plan", "r-1", "ann", "hash", "Plan", "body", "", "", "pending", 10, 20, 0, "", "", "", "k1");
  sql +=
      "INSERT INTO requests VALUES (5, 'red', 'plan', 'r-1', 'ann', 'hash', 'Plan', x'626f6479', '', x'', 'pending', "
      "10, 20, 0, '', '', '', 'k1', " +
      number(ask) + ");";
  sql +=
      "INSERT INTO messages VALUES (99, 'red', 'i', 'gone', 's', 't', 'text', x'', 'chat', '', '', '', 1, 1, 0, "
      "'none', '', 0, 0, 0); DELETE FROM messages WHERE id = 99;";  // its number stays used
  sql += "INSERT INTO lead VALUES ('red', 'busy', 5, 9, " + number(row_sum("red", "busy", 5, 9)) + ");";
  REQUIRE(old.run(sql) == SQLITE_OK);
  REQUIRE(old.run("PRAGMA application_id = " + number(ledger_application_id) + "; PRAGMA user_version = 2") ==
          SQLITE_OK);
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  return path;
}

/// Rows as format 3 wrote them.
std::string format_3(const std::string& path) {
  Operator old(path);
  REQUIRE(old.run(std::string(ledger_migrations[0]) + ledger_migrations[1] + ledger_migrations[2]) == SQLITE_OK);
  const auto member = row_sum("red", "ann", 1, "idle", "", 5);
  REQUIRE(
      old.run("INSERT INTO members (team, name, present, state, detail, last_seen_ms, sum) VALUES ('red', 'ann', 1, "
              "'idle', '', 5, " +
              number(member) + ")") == SQLITE_OK);
  REQUIRE(old.run("PRAGMA application_id = " + number(ledger_application_id) + "; PRAGMA user_version = 3") ==
          SQLITE_OK);
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  return path;
}

}  // namespace

TEST_CASE("a ledger of format 1 is brought to today's with every row it had") {
  TemporaryDirectory directory;
  const std::string path = format_1(directory.file("ledger.db"));
  auto ledger = must(Ledger::open(path));

  const auto members = must(ledger->members().of_team("red"));
  REQUIRE(members.size() == 1);
  CHECK((members[0].name == "ann" && members[0].state == "idle" && members[0].task.empty() &&
         members[0].last_seen_ms == 5));
  const auto rules = must(ledger->rules().of_team("red"));
  REQUIRE(rules.size() == 2);
  CHECK((rules[0].id == 3 && rules[0].rule == "Bash(rm:*)" && rules[0].action == "deny"));
  CHECK((rules[1].id == 7 && rules[1].kind == "host" && rules[1].at_ms == 6));
  CHECK(must(ledger->messages().find({"k1"}))->delivery == DeliveryState::queued);
  CHECK(must(ledger->next_batch()) == 42);

  // Numbers of rules go on where they were, and what is new can be used.
  CHECK(must(ledger->rules().add({0, "red", "s", "team", "allow", "Edit(//repo/**)", "mona", 8})) == 10);
  CHECK(must(ledger->rules().add({0, "red", "s", "host", "allow", "example.org", "nina", 8})) == 7);
  must(ledger->members().put({"red", "ann", true, "assigned", "", "1 \"Parse\"", 9}));
  CHECK(must(ledger->members().of_team("red")).at(0).task == "1 \"Parse\"");
  must(ledger->shutdowns().put("red", shutdown_row("s", handlers::ShutdownState::requested)));
  CHECK(must(ledger->orders().add(order_row("ann", "rule 10"))).has_value());
}

TEST_CASE("a ledger of format 2 is brought to today's with every row it had") {
  TemporaryDirectory directory;
  auto ledger = must(Ledger::open(format_2(directory.file("ledger.db"))));
  const DeliveryState states[] = {DeliveryState::none, DeliveryState::queued, DeliveryState::offered,
                                  DeliveryState::delivered};
  for (int i = 0; i < 4; ++i) {
    const auto row = must(ledger->messages().find({"k" + number(i + 1)})).value();
    CHECK((row.id == i + 3 && row.sender == "ann" && row.entry == "{}" && row.request_id == "r-1" && row.batch == 7));
    CHECK((row.sink == "exec" && row.offered_ms == 1001 && row.delivered_ms == 1002 && row.attempts == i));
    CHECK(row.delivery == states[i]);
    CHECK(row.priority == Priority::chat);
    // Format 2 knew a delivery only by its acknowledgement.
    CHECK(row.confirmed == (states[i] == DeliveryState::delivered ? Confirmation::acknowledged : Confirmation::none));
  }
  const auto ask = must(ledger->asks().find("red", handlers::RequestKind::plan, "r-1")).value();
  CHECK((ask.asker == "ann" && ask.body == "body" && ask.deadline_ms == 20 && ask.message.value == "k1"));
  const auto lead = must(ledger->leads().find("red")).value();
  CHECK((lead.state == "busy" && lead.since_ms == 5 && lead.until_ms == 9));
  CHECK((lead.by.empty() && lead.session.empty() && lead.pane.empty()));

  // What is new can be used, and numbers go on where they were.
  CHECK(must(ledger->messages().insert(chat_row("new"))) == 100);
  must(ledger->deliveries().mark_expired({4}, 2000));
  CHECK(must(ledger->messages().find({"k2"}))->delivery == DeliveryState::expired);
  auto stop = request_row("s-1", handlers::RequestState::pending);
  stop.kind = handlers::RequestKind::stop;
  must(ledger->asks().put("red", stop));
  must(ledger->leads().put("red", {"idle", 10, 0, "turn_stops", "0b1c", "%3"}));
}

TEST_CASE("a ledger of format 3 is brought to today's, and knows no roster yet") {
  TemporaryDirectory directory;
  auto ledger = must(Ledger::open(format_3(directory.file("ledger.db"))));
  CHECK(must(ledger->members().of_team("red")).at(0).state == "idle");
  CHECK_FALSE(must(ledger->rosters().find("red")).has_value());
  must(ledger->rosters().put("red", {"{}", 7, 9}));
  CHECK(must(ledger->rosters().find("red"))->bytes == "{}");
}

TEST_CASE("the last roster of each team is read as it was written, whatever its bytes") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  const std::string bytes("{\"name\":\"r\xff\0d\"}\n", 16);
  const std::uint64_t file = ~std::uint64_t{0};
  {
    auto ledger = must(Ledger::open(path));
    must(ledger->rosters().put("red", {"older", 1, 1}));
    must(ledger->rosters().put("blue", {"other", 2, 2}));
    must(ledger->rosters().put("red", {bytes, file, 3}));
    const auto row = must(ledger->rosters().find("red")).value();
    CHECK((row.bytes == bytes && row.file == file && row.seen_ms == 3));
    CHECK(must(ledger->rosters().find("blue"))->bytes == "other");
  }
  REQUIRE(Operator(path).run("UPDATE rosters SET file = 8 WHERE team = 'red'") == SQLITE_OK);
  CHECK(code_of(must(Ledger::open(path))->rosters().find("red")) == "ledger.damaged");
}

TEST_CASE("a ledger that was brought up to date has the tables of a new one, column for column") {
  TemporaryDirectory directory;
  const auto make_old = GENERATE(&format_1, &format_2, &format_3);
  const std::string old_path = make_old(directory.file("old.db"));
  const std::string new_path = directory.file("new.db");
  for (const auto& path : {old_path, new_path}) must(Ledger::open(path));
  Operator both(old_path);
  REQUIRE(both.run("ATTACH '" + new_path + "' AS fresh") == SQLITE_OK);
  CHECK(both.number("SELECT count(*) FROM sqlite_schema") == both.number("SELECT count(*) FROM fresh.sqlite_schema"));
  CHECK(both.number("SELECT count(*) FROM (SELECT type, name, tbl_name, sql FROM sqlite_schema EXCEPT "
                    "SELECT type, name, tbl_name, sql FROM fresh.sqlite_schema)") == 0);
  CHECK(both.number("PRAGMA user_version") == static_cast<long long>(ledger_migrations.size()));
}

TEST_CASE("a migration that is cut short leaves the ledger as it was") {
  TemporaryDirectory directory;
  const std::string path = format_1(directory.file("ledger.db"));
  REQUIRE(Operator(path).run("CREATE TABLE orders (id INTEGER)") == SQLITE_OK);  // in the way of ours
  CHECK_FALSE(Ledger::open(path).ok());
  Operator hand(path);
  CHECK(hand.number("PRAGMA user_version") == 1);
  CHECK(hand.number("SELECT count(*) FROM sqlite_schema WHERE name = 'shutdowns'") == 0);
  CHECK(hand.number("SELECT count(*) FROM rules") == 2);
}

}  // namespace inbox_poller::poller::test
