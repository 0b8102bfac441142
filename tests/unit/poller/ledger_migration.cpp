// From a file of format 1, made by migration 1 itself and filled as its program did, to today's.
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

}  // namespace

TEST_CASE("a ledger of format 1 is brought to today's with every row it had") {
  TemporaryDirectory directory;
  const std::string path = format_1(directory.file("ledger.db"));
  auto ledger = must(Ledger::open(path));

  const auto members = must(ledger->members("red"));
  REQUIRE(members.size() == 1);
  CHECK((members[0].name == "ann" && members[0].state == "idle" && members[0].task.empty() &&
         members[0].last_seen_ms == 5));
  const auto rules = must(ledger->rules("red"));
  REQUIRE(rules.size() == 2);
  CHECK((rules[0].id == 3 && rules[0].rule == "Bash(rm:*)" && rules[0].action == "deny"));
  CHECK((rules[1].id == 7 && rules[1].kind == "host" && rules[1].at_ms == 6));
  CHECK(must(ledger->message({"k1"}))->delivery == DeliveryState::queued);
  CHECK(must(ledger->next_batch()) == 42);

  // Numbers of rules go on where they were, and what is new can be used.
  CHECK(must(ledger->add_rule({0, "red", "s", "team", "allow", "Edit(//repo/**)", "mona", 8})) == 10);
  CHECK(must(ledger->add_rule({0, "red", "s", "host", "allow", "example.org", "nina", 8})) == 7);
  must(ledger->put_member({"red", "ann", true, "assigned", "", "1 \"Parse\"", 9}));
  CHECK(must(ledger->members("red")).at(0).task == "1 \"Parse\"");
  must(ledger->put_shutdown("red", shutdown_row("s", handlers::ShutdownState::requested)));
  CHECK(must(ledger->add_order(order_row("ann", "rule 10"))).has_value());
}

TEST_CASE("a ledger that was brought up to date has the tables of a new one, column for column") {
  TemporaryDirectory directory;
  const std::string old_path = format_1(directory.file("old.db"));
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
