// Ledgers of formats 1 to 4, made by the tables of their time and filled as their programs did, become today's.
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>

#include "failing_disk.hpp"
#include "ledger_support.hpp"
#include "poller/ledger/old_formats.hpp"
#include "poller/ledger/row_sum.hpp"
#include "poller/ledger/tables.hpp"
#include "poller/mailbox/arrays/array_entry.hpp"
#include "tests/support/portion.hpp"

namespace inbox_poller::poller::ledger_test::ledger_migration_test {
namespace {

namespace fs = std::filesystem;

std::string number(long long value) { return std::to_string(value); }
std::string in_quotes(std::string_view text) {
  std::string sql = "'";
  for (const char c : text) sql += c == '\'' ? "''" : std::string(1, c);
  return sql + "'";
}
std::string as_bytes(std::string_view text) {
  std::string sql = "x'";
  for (const unsigned char c : text) {
    sql += "0123456789abcdef"[c / 16];
    sql += "0123456789abcdef"[c % 16];
  }
  return sql + "'";
}

const std::string plain = R"({"from":"ann@red","text":"hello","timestamp":"t","read":false})";
const std::string odd = R"({"from":"ann","text":"hello","timestamp":"t","mood":"fine"})";
const std::string answer = poller::encode_entry({"team-lead", "{\"type\":\"x\"}", "", "t", "blue", "id"});
const std::string old_answer = R"({"from":"team-lead","text":"as another program wrote it","timestamp":"t"})";

/// What programs of all formats wrote, by the columns that each format had.
class OldLedger {
 public:
  OldLedger(const std::string& path, int format) : format_(format), database_(path) {
    for (int step = 0; step < format; ++step)
      REQUIRE(database_.run(old_formats.at(static_cast<std::size_t>(step))) == SQLITE_OK);
    const char* states[] = {"none", "queued", "offered", "delivered"};
    for (int i = 0; i < 4; ++i) add_message(i + 3, named("k" + number(i + 1)).value, plain, "chat", states[i], i);
    add_message(7, named("odd").value, odd, "status", "none", 0);
    add_message(8, named("bad").value, "[7]", "bad", "none", 0);
    add_message(9, named("k1").value + "-12", plain, "duplicate", "none", 0);
    run("INSERT INTO messages SELECT 99, team, inbox, 'gone', sender" + rest_of_messages() +
        " FROM messages WHERE id = 3; DELETE FROM messages WHERE id = 99");  // its number stays used
    const auto ask = row_sum("red", "plan", "r-1", "ann", "hash", "Plan", "body", "", "", "pending", 10, 20, 0, "", "",
                             "", named("k1").value);
    run("INSERT INTO requests VALUES (5, 'red', 'plan', 'r-1', 'ann', 'hash', 'Plan', x'626f6479', '', x'', 'pending', "
        "10, 20, 0, '', '', '', " + in_quotes(named("k1").value) + ", " + number(ask) + ")");
    add_owed(1, "a1", answer);
    add_owed(2, "a2", old_answer);
    const auto member = row_sum("red", "ann", 1, "idle", "", 5);
    run("INSERT INTO members (team, name, present, state, detail, last_seen_ms, sum) VALUES ('red', 'ann', 1, 'idle', "
        "'', 5, " + number(member) + ")");
    const auto deny = row_sum("red", "s", "permission", "deny", "Bash(rm:*)", "mona", 5);
    run("INSERT INTO rules VALUES (3, 'red', 's', 'permission', 'deny', 'Bash(rm:*)', 'mona', 5, " + number(deny) +
        "); INSERT INTO rules VALUES (9, 'red', 's', 'host', 'allow', 'x', 'x', 6, 0); DELETE FROM rules WHERE id = 9");
    run("INSERT INTO lead (team, state, since_ms, until_ms, sum) VALUES ('red', 'busy', 5, 9, " +
        number(row_sum("red", "busy", 5, 9)) + ")");
    const auto line = row_sum(7, "red", named("k1").value, "r-1", "request.pending", "detail");
    run("INSERT INTO history VALUES (4, 7, 'red', " + in_quotes(named("k1").value) +
        ", 'r-1', 'request.pending', 'detail', " + number(line) + ")");
    if (format >= 2) add_of_format_2();
    if (format >= 4)
      run("INSERT INTO rosters VALUES ('red', x'7b7d', 7, 9, " + number(row_sum("red", "{}", 7, 9)) + ")");
    run("UPDATE daemon SET batch = 41; CREATE VIEW mine AS SELECT key FROM messages");
    run("PRAGMA application_id = " + number(ledger_application_id) + "; PRAGMA user_version = " + number(format));
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
  }
  void run(const std::string& sql) { REQUIRE(database_.run(sql) == SQLITE_OK); }

 private:
  [[nodiscard]] std::string rest_of_messages() const {
    return std::string(", timestamp, type, entry, disposition, code, reason, request_id, received_ms, batch, sum, "
                       "delivery, sink, offered_ms, delivered_ms, attempts") +
           (format_ >= 3 ? ", confirmed, priority" : "");
  }
  void add_message(int id, const std::string& key, const std::string& entry, const char* disposition, const char* state,
                   int attempts) {
    const auto sum =
        row_sum("red", "team-lead", key, "ann", "t", "text", entry, disposition, "", "", "r-1", 1000, 7);
    run("INSERT INTO messages VALUES (" + number(id) + ", 'red', 'team-lead', " + in_quotes(key) +
        ", 'ann', 't', 'text', " + as_bytes(entry) + ", " + in_quotes(disposition) + ", '', '', 'r-1', 1000, 7, " +
        number(sum) + ", " + in_quotes(state) + ", 'exec', 1001, 1002, " + number(attempts) +
        (format_ >= 3 ? std::string(", ") + (std::string(state) == "delivered" ? "'acknowledged'" : "''") + ", 1" : "") +
        ")");
  }
  void add_owed(int id, const std::string& name, const std::string& entry) {
    const auto sum = row_sum("red", 7, "ann", named(name).value, entry, "r-1", "pending", 2, 10, 20, "locked");
    run("INSERT INTO outbox VALUES (" + number(id) + ", 'red', 7, 'ann', " + in_quotes(named(name).value) + ", " +
        as_bytes(entry) + ", 'r-1', 'pending', 2, 10, 20, 'locked', " + number(sum) + ")");
  }
  void add_of_format_2() {
    const auto order =
        row_sum("red", "ann", 500, "mode", "plan", "config plan", "mona", named("o1").value, 1000, "sent", 1000);
    run("INSERT INTO orders VALUES (6, 'red', 'ann', 500, 'mode', 'plan', 'config plan', 'mona', " +
        in_quotes(named("o1").value) + ", 1000, 'sent', 1000, " + number(order) + ")");
    const auto shutdown =
        row_sum("red", "s", "ann", "ann@red", "mona", "done", "requested", 1, 2, 3, 4, 5, 6, 7, 8, "tmux", "%7",
                "100:11", "200:22", "300:33 301:34", "", "", "", "", "");
    run("INSERT INTO shutdowns VALUES (2, 'red', 's', 'ann', 'ann@red', 'mona', 'done', 'requested', 1, 2, 3, 4, 5, 6, "
        "7, 8, 'tmux', '%7', '100:11', '200:22', '300:33 301:34', '', '', '', '', '', " + number(shutdown) + ")");
  }

  int format_;
  Operator database_;
};

std::string old_ledger(const std::string& path, int format) {
  const OldLedger old(path, format);
  return path;
}

/// Everything that OldLedger wrote is there.
void check_taken(Ledger& ledger, int format) {
  const DeliveryState states[] = {DeliveryState::none, DeliveryState::queued, DeliveryState::offered,
                                  DeliveryState::delivered};
  for (int i = 0; i < 4; ++i) {
    const auto row = must(ledger.messages().find(named("k" + number(i + 1)))).value();
    CHECK((row.id == i + 3 && row.sender == "ann" && row.request_id == "r-1" && row.batch == 7 && row.raw.empty()));
    CHECK((row.message.from == "ann@red" && row.message.text == "hello" && row.message.timestamp == "t"));
    CHECK((row.delivery == states[i] && row.priority == Priority::chat));
    if (i > 0) CHECK((row.sink == "exec" && row.offered_ms == 1001 && row.delivered_ms == 1002 && row.attempts == i));
    CHECK(row.confirmed == (i == 3 ? Confirmation::acknowledged : Confirmation::none));
  }
  CHECK(must(ledger.messages().find(named("odd")))->raw == odd);
  CHECK(must(ledger.messages().find(named("bad")))->raw == "[7]");
  CHECK(must(ledger.messages().find({named("k1").value + "-12"}))->disposition == Disposition::duplicate);
  CHECK(must(ledger.messages().like(named("k1").value, 10)).size() == 2);
  const auto ask = must(ledger.asks().find("red", {handlers::AskKind::plan, "ann", "r-1"})).value();
  CHECK((ask.asker == "ann" && ask.body == "body" && ask.deadline_ms == 20 && ask.message == named("k1")));
  const auto owed = must(ledger.outbox().of_request("red", "r-1"));
  REQUIRE(owed.size() == 2);
  CHECK((owed[0].raw.empty() && poller::encode_entry(owed[0].message) == answer));
  CHECK((owed[1].raw == old_answer && owed[1].message.text == "as another program wrote it"));
  CHECK((owed[1].attempts == 2 && owed[1].created_ms == 10 && owed[1].next_ms == 20));
  CHECK(must(ledger.outbox().wrote(named("a2"))));
  CHECK(must(ledger.members().of_team("red")).at(0).state == "idle");
  CHECK(must(ledger.rules().of_team("red")).at(0).rule == "Bash(rm:*)");
  const auto lead = must(ledger.leads().find("red")).value();
  CHECK((lead.state == "busy" && lead.since_ms == 5 && lead.until_ms == 9 && lead.by.empty()));
  CHECK(must(ledger.history().of_message(named("k1"))).at(0).detail == "detail");
  CHECK(must(ledger.history().of_request("red", "r-1")).size() == 1);
  CHECK(must(ledger.orders().of_team("red")).size() == (format >= 2 ? 1U : 0U));
  const auto shutdown = must(ledger.shutdowns().find("red", "s"));
  REQUIRE(shutdown.has_value() == (format >= 2));
  if (shutdown) CHECK((shutdown->place.processes.size() == 2 && shutdown->kill_ms == 8));
  CHECK(must(ledger.rosters().find("red")).has_value() == (format >= 4));
}

}  // namespace

TEST_CASE("a ledger of any earlier format is brought to today's with every row it had, and a copy is kept") {
  const int format = GENERATE(1, 2, 3, 4);
  TemporaryDirectory directory;
  const std::string path = old_ledger(directory.file("ledger.db"), format);
  auto ledger = must(Ledger::open(path));
  check_taken(*ledger, format);

  // What is new can be used, and numbers go on where they were.
  CHECK(must(ledger->next_batch()) == 42);
  CHECK(must(ledger->messages().insert(chat_row("new"))) == 100);
  CHECK(must(ledger->rules().add({0, "red", "s", "team", "allow", "Edit(//repo/**)", "mona", 8})) == 10);
  must(ledger->deliveries().mark_expired({4}, 2000));
  CHECK(must(ledger->messages().find(named("k2")))->delivery == DeliveryState::expired);
  auto stop = request_row("s-1", handlers::AskState::pending);
  stop.kind = handlers::AskKind::stop;
  must(ledger->asks().put("red", stop));
  must(ledger->leads().put("red", {"idle", 10, 0, "turn_stops", "0b1c", "%3"}));

  REQUIRE(ledger->taken_over().has_value());
  CHECK(ledger->taken_over()->format == format);
  const std::string copy = ledger->taken_over()->copy;
  CHECK(copy.ends_with("ledger.db.format-" + number(format)));
  struct stat status {};
  REQUIRE(::stat(copy.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 0600);
  CHECK(Operator(copy).number("PRAGMA user_version") == format);
  CHECK(Operator(copy).number("SELECT count(*) FROM messages") == 7);
  ledger.reset();
  ledger = must(Ledger::open(path));  // it happens once
  CHECK_FALSE(ledger->taken_over().has_value());
  CHECK(must(Ledger::open(copy))->taken_over().has_value());  // and the copy is a ledger itself
}

TEST_CASE("the last roster of each team is read as it was written, whatever its bytes") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  const std::string odd_bytes("{\"name\":\"r\xff\0d\"}\n", 16);
  const std::uint64_t file = ~std::uint64_t{0};
  {
    auto ledger = must(Ledger::open(path));
    must(ledger->rosters().put("red", {"older", 1, 1}));
    must(ledger->rosters().put("blue", {"other", 2, 2}));
    must(ledger->rosters().put("red", {odd_bytes, file, 3}));
    const auto row = must(ledger->rosters().find("red")).value();
    CHECK((row.bytes == odd_bytes && row.file == file && row.seen_ms == 3));
    CHECK(must(ledger->rosters().find("blue"))->bytes == "other");
  }
  REQUIRE(Operator(path).run("UPDATE rosters SET file = 8 WHERE team = 'red'") == SQLITE_OK);
  CHECK(code_of(must(Ledger::open(path))->rosters().find("red")) == "ledger.damaged");
}

TEST_CASE("a ledger that was brought up to date has the tables of a new one, column for column") {
  TemporaryDirectory directory;
  const int format = GENERATE(1, 2, 3, 4);
  const std::string old_path = old_ledger(directory.file("old.db"), format);
  const std::string new_path = directory.file("new.db");
  for (const auto& path : {old_path, new_path}) must(Ledger::open(path));
  Operator both(old_path);
  REQUIRE(both.run("ATTACH '" + new_path + "' AS fresh") == SQLITE_OK);
  // But for the view that a person made.
  CHECK(both.number("SELECT count(*) FROM sqlite_schema") ==
        both.number("SELECT count(*) + 1 FROM fresh.sqlite_schema"));
  CHECK(both.number("SELECT count(*) FROM (SELECT type, name, tbl_name, sql FROM fresh.sqlite_schema EXCEPT "
                    "SELECT type, name, tbl_name, sql FROM sqlite_schema)") == 0);
  CHECK(both.number("SELECT count(*) FROM mine") == 7);
  CHECK(both.number("PRAGMA user_version") == ledger_format);
}

TEST_CASE("a ledger of this format whose tables were declared in other words is used as it is") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  must(Ledger::open(path));
  const std::string now = "state = 'queued' OR state = 'offered' OR state = 'delivered' OR state = 'expired'";
  const std::string before = "state IN ('queued', 'offered', 'delivered', 'expired')";  // as earlier programs had it
  {
    Operator hand(path);
    REQUIRE(hand.run("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, " + in_quotes(now) + ", " +
                     in_quotes(before) + ") WHERE name = 'deliveries'") == SQLITE_OK);
    REQUIRE(hand.number("SELECT count(*) FROM sqlite_schema WHERE instr(sql, " + in_quotes(before) + ")") == 1);
  }
  auto ledger = must(Ledger::open(path));
  CHECK_FALSE(ledger->taken_over().has_value());
  must(ledger->messages().insert(chat_row("new")));
  CHECK(must(ledger->messages().find(named("new")))->delivery == DeliveryState::queued);
}

TEST_CASE("a ledger that cannot be taken over stays as it was") {
  TemporaryDirectory directory;
  const std::string path = old_ledger(directory.file("ledger.db"), 1);
  REQUIRE(Operator(path).run("CREATE TABLE orders (id INTEGER)") == SQLITE_OK);  // in the way of ours
  const auto opened = Ledger::open(path);
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().message.find("taking over a ledger of format 1") != std::string::npos);
  Operator hand(path);
  CHECK(hand.number("PRAGMA user_version") == 1);
  CHECK(hand.number("SELECT count(*) FROM sqlite_schema WHERE name = 'shutdowns'") == 0);
  CHECK(hand.number("SELECT count(*) FROM messages") == 7);
}

TEST_CASE("a damaged row is no sound one after it was taken over") {
  TemporaryDirectory directory;
  const std::string path = old_ledger(directory.file("ledger.db"), 4);
  REQUIRE(Operator(path).run("UPDATE messages SET sender = 'bob' WHERE id = 4; UPDATE outbox SET entry = x'7b7d' WHERE "
                             "id = 1; UPDATE rules SET action = 'allow'; UPDATE shutdowns SET pane_id = '%8'; UPDATE "
                             "requests SET message_key = 'k' WHERE id = 5; UPDATE history SET detail = 'x'; UPDATE "
                             "orders SET subject = 'bypass'") == SQLITE_OK);
  auto ledger = must(Ledger::open(path));
  CHECK(must(ledger->messages().find(named("k1"))).has_value());
  CHECK(code_of(ledger->messages().find(named("k2"))) == "ledger.damaged");
  CHECK(code_of(ledger->outbox().of_request("red", "r-1")) == "ledger.damaged");
  CHECK(code_of(ledger->rules().of_team("red")) == "ledger.damaged");
  CHECK(code_of(ledger->shutdowns().find("red", "s")) == "ledger.damaged");
  CHECK(code_of(ledger->asks().by_id("r-1")) == "ledger.damaged");
  CHECK(code_of(ledger->history().of_request("red", "r-1")) == "ledger.damaged");
  CHECK(code_of(ledger->orders().of_team("red")) == "ledger.damaged");
}

TEST_CASE("a damaged key of what is owed stays unreadable after it was taken over, and its neighbours are as they were") {
  const int format = GENERATE(1, 2, 3, 4);
  const std::string key = GENERATE(as<std::string>(), "", "no key", "0123456789abcdef0123456789abcdeg", "0123456789abcdef");
  TemporaryDirectory directory;
  const std::string path = old_ledger(directory.file("ledger.db"), format);
  const std::string sound = named("a2").value;
  REQUIRE(Operator(path).run("UPDATE outbox SET key = '" + key + "' WHERE id = 1; UPDATE outbox SET request_id = 'r-2' "
                             "WHERE id = 2; UPDATE outbox SET sum = " +
                             number(row_sum("red", 7, "ann", sound, old_answer, "r-2", "pending", 2, 10, 20, "locked")) +
                             " WHERE id = 2") == SQLITE_OK);
  auto ledger = must(Ledger::open(path));
  CHECK(code_of(ledger->outbox().of_request("red", "r-1")) == "ledger.damaged");
  REQUIRE(must(ledger->outbox().of_request("red", "r-2")).size() == 1);
  CHECK(must(ledger->outbox().of_request("red", "r-2")).front().key == named("a2"));
  CHECK(must(ledger->messages().find(named("k1"))).has_value());
  ledger.reset();
  CHECK(Operator(path).number("SELECT count(*) FROM outbox WHERE id = 1 AND from_id = 'team-lead'") == 1);  // it is kept
}

TEST_CASE("killed at any operation while a ledger is taken over: the next start has all of it") {
  const int format = GENERATE(1, 2, 3, 4);
  TemporaryDirectory directory;
  const std::string sound = read_file(old_ledger(directory.file("made.db"), format));
  const std::string path = directory.file("ledger.db");
  int killed = 0;
  // The take-over of the formats before 4 differs in its first statements only.
  const bool every = format == 4 && inbox_poller::test::is_long_form();
  inbox_poller::test::Points points(every ? 1 : inbox_poller::test::is_long_form() ? 13 : 41);
  for (;;) {
    const int n = points.next();
    REQUIRE(n < 2000);
    for (const char* part : {"-wal", "-shm", "-journal"}) fs::remove(path + part);
    write_file(path, sound);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      FailingDisk disk;
      disk.kill_at(n);
      static_cast<void>(Ledger::open(path).ok());
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) break;
    ++killed;
    INFO("operation " << n);
    check_taken(*must(Ledger::open(path)), format);
  }
  CHECK(killed > (every ? 100 : 3));
}

TEST_CASE("a disk that fails or is full while a ledger is taken over: it stays as it was until there is room") {
  TemporaryDirectory directory;
  const std::string sound = read_file(old_ledger(directory.file("made.db"), 4));
  const std::string path = directory.file("ledger.db");
  const int error = GENERATE(SQLITE_FULL, SQLITE_IOERR_WRITE);
  bool any_failed = true;
  int refused = 0;
  inbox_poller::test::Points points(inbox_poller::test::is_long_form() ? 1 : 47);
  while (any_failed) {
    const int n = points.next();
    REQUIRE(n < 2000);
    for (const char* part : {"-wal", "-shm", "-journal"}) fs::remove(path + part);
    write_file(path, sound);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    INFO("operation " << n);
    {
      FailingDisk disk;
      disk.fail(n, error, true);
      const auto opened = code_of(Ledger::open(path));
      any_failed = disk.failed();
      if (opened != "ok") {
        ++refused;
        CHECK((opened == "ledger.io" || opened == "ledger.full"));
        disk.fail(0, 0, false);
        CHECK(Operator(path).number("PRAGMA user_version") == 4);
        std::string litter;  // half a copy takes room, and is of no use
        for (const auto& left : fs::directory_iterator(fs::path(path).parent_path()))
          if (const std::string name = left.path().filename(); name.find(".new") != std::string::npos) litter += name + ' ';
        CHECK(litter == "");
      }
    }
    check_taken(*must(Ledger::open(path)), 4);
  }
  CHECK(refused > (inbox_poller::test::is_long_form() ? 30 : 1));
}

}  // namespace inbox_poller::poller::ledger_test::ledger_migration_test
