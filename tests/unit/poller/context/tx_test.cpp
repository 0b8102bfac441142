// One unit of work: what it is made of, and that one which fails never was.
#include <sqlite3.h>

#include <algorithm>
#include <iterator>
#include <regex>

#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::test::tx_test {
namespace {

/// Fails one COMMIT of every database that this process opens while it lives.
class FailingCommit {
 public:
  FailingCommit() {
    left() = 0;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&watch));
  }
  ~FailingCommit() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&watch)); }
  FailingCommit(const FailingCommit&) = delete;
  FailingCommit& operator=(const FailingCommit&) = delete;

  /// The `n`-th from now; 0: none.
  static void arm(int n) { left() = n; }
  static bool failed() { return left() == 0; }

 private:
  static int& left() {
    static int count = 0;
    return count;
  }
  static int watch(sqlite3* database, const char**, const void*) {
    sqlite3_commit_hook(database, [](void*) { return static_cast<int>(left() > 0 && --left() == 0); }, nullptr);
    return SQLITE_OK;
  }
};

/// Without what is made up at random, and with one word for what stands in a box, whether we wrote it before or after
/// the failure.
std::string named(const std::string& text) {
  static const std::regex random(R"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|shutdown-[0-9]+@\w+)");
  static const std::regex there("was there already");
  return std::regex_replace(std::regex_replace(text, random, "<id>"), there, "written");
}

/// Every row of every table, a line each.
std::string rows_of(const std::string& path) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  const auto lines = [&](const std::string& query) {
    std::vector<std::string> found;
    sqlite3_stmt* statement = nullptr;
    REQUIRE(sqlite3_prepare_v2(database, query.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      std::string line;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const std::string_view column = sqlite3_column_name(statement, i);
        if (column == "checksum" || column == "inode") continue;  // of what is made up at random, and of an inode
        if (column == "id" && query.find("history") != std::string::npos) continue;  // in what order things go that do not wait for each other
        const bool is_bytes = sqlite3_column_type(statement, i) == SQLITE_BLOB;
        const auto* text = is_bytes ? nullptr : reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        line += std::string(sqlite3_column_name(statement, i)) + "=" + (text == nullptr ? "" : text) + "|";
      }
      found.push_back(std::move(line));
    }
    sqlite3_finalize(statement);
    return found;
  };
  std::string all;
  for (const auto& table : lines("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")) {
    const auto name = table.substr(5, table.size() - 6);
    for (const auto& line : lines("SELECT * FROM " + name + " ORDER BY 1")) all += name + ": " + line + "\n";
  }
  sqlite3_close(database);
  return all;
}

/// The log without the moments and without what it says of the failure.
std::string told(const std::string& log) {
  std::string all;
  for (const auto& value : json::array([&] {
         json::array lines;
         for (std::size_t at = 0, end; (end = log.find('\n', at)) != std::string::npos; at = end + 1)
           lines.push_back(json::parse(log.substr(at, end - at)));
         return lines;
       }())) {
    auto line = value.as_object();
    const auto event = json::value_to<std::string>(line.at("event"));
    if (event == "ledger.fault" || event == "ledger.recovered") continue;
    line.erase("ts");
    all += json::serialize(line) + "\n";
  }
  return all;
}

/// The lines that only one of them has. What is independent of each other may change places.
std::string differences(const std::string& with, const std::string& without) {
  const auto lines = [](const std::string& text) {
    std::vector<std::string> found;
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      found.push_back(text.substr(at, end - at));
    return found;
  };
  auto a = lines(with), b = lines(without);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<std::string> more, less;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(more));
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(less));
  std::string all;
  for (const auto& line : more) all += "+ " + line + "\n";
  for (const auto& line : less) all += "- " + line + "\n";
  return all;
}

struct Outcome {
  std::string rows, log, lead, boxes, memory;
};

/// What a team does in a day, each step repeated until it is done: with a commit that fails, one of them once.
Outcome day(int failing) {
  World world;
  world.clock.jump_wall(std::chrono::milliseconds(1'800'000'000'000 - world.clock.wall_ms()));
  FailingCommit::arm(failing);
  Team& team = *world.team;
  std::string lead;
  int steps = 0;
  const auto until_done = [&](const auto& step) {
    CAPTURE(++steps);
    int times = 0;
    while (!step()) REQUIRE(++times < 3);
  };
  const auto poll = [&] {
    for (int i = 0; i < 4; ++i) static_cast<void>(world.run(team.poll()));
  };
  const auto take = [&] {
    std::vector<std::string> keys;
    until_done([&] {
      const auto offered = team.delivery().offer(World::by_hand());
      if (!offered) return false;
      for (const auto& one : *offered) {
        keys.push_back(one.key.value);
        lead += one.from + ": " + one.text + " (" + std::to_string(one.attempts) + ")\n";
      }
      return true;
    });
    if (keys.empty()) return;
    until_done([&] { return static_cast<bool>(team.delivery().acknowledge(keys)); });
  };
  poll();
  world.write_lead({World::entry("w1", "hello", 1), World::entry("w2", World::request("perm-1", "git status", "w2"), 2),
                    World::entry("w1", World::request("perm-2", "make"), 3), World::entry("w2", World::request("perm-3", "ls", "w2"), 4),
                    World::entry("w2", R"({"type":"plan_approval_request","requestId":"plan-1","from":"w2","planContent":"p","planFilePath":"/p"})", 5),
                    R"({"nothing":1})"});
  poll();
  take();
  until_done([&] { return team.delivery().lead().report(LeadEvent::reports_busy).ok(); });
  until_done([&] { return team.delivery().lead().report(LeadEvent::reports_idle).ok(); });
  handlers::Answer answer;
  answer.event = handlers::RequestEvent::person_approves;
  answer.by = "ann";
  for (const auto& request : team.requests().open()) {
    if (request.request_id == "perm-3") continue;
    until_done([&] { return std::holds_alternative<Requests::Applied>(team.requests().answer(request, answer, request.request_id == "perm-2")); });
  }
  poll();
  until_done([&] { return team.orders().set_mode({"w1"}, config::PermissionMode::plan, "ann").ok(); });
  until_done([&] { return team.orders().allow("Bash(git log)", "", "ann", Orders::Audience::workers).ok(); });
  poll();
  world.write_lead({World::entry("w2", R"({"type":"idle_notification","from":"w2","timestamp":"2026-02-07T15:20:16.000Z"})", 6),
                    World::entry("w1", "more", 7)});
  poll();
  until_done([&] { return world.run(team.shutdowns().request({"w2", "ann", "done", {}, {}, false})).ok(); });
  poll();
  take();
  until_done([&] { return team.heard_of("w1", handlers::WorkerReport::assigned, "7").ok(); });
  poll();
  for (const auto* worker : {"w1", "w2"})
    for (auto& entry : world.memory->box(worker)) entry.read = true;
  poll();
  Outcome outcome;
  FailingCommit::arm(FailingCommit::failed() ? 0 : -1);
  outcome.rows = named(rows_of(world.scratch.path("ledger.db").string()));
  outcome.log = named(told(world.log()));
  outcome.lead = named(lead);
  for (const auto* box : {"team-lead", "w1", "w2"}) outcome.boxes += json::serialize(world.inbox(box)) + "\n";
  outcome.boxes = named(outcome.boxes);
  for (const auto& request : team.requests().open()) outcome.memory += "open " + request.request_id + "\n";
  for (const auto& [name, row] : team.context().members) outcome.memory += name + " " + std::string(to_string(row.state)) + " " + row.task + "\n";
  for (const auto& rule : team.context().rules.of_session()) outcome.memory += rule.rule + "\n";
  return outcome;
}

struct OneTeam : World {
  TeamState& context = team->context();
  MemberRow row;
  OneTeam() {
    row.team = "t";
    row.name = "w9";
  }
  bool has_row() { return ledger->members().of_team("t")->size() == context.members.size() + 1; }
};

const Fields line{{"team", "t"}, {"message_key", std::string(32, 'a')}, {"reason", "said"}};

}  // namespace

TEST_CASE("with any one commit that fails, ledger, log, boxes and memory end as without") {
  const FailingCommit commits;
  const auto without = day(0);
  REQUIRE(without.log.find("request.decided") != std::string::npos);
  int failed = 0;
  for (int nth = 1;; ++nth) {
    CAPTURE(nth);
    const auto with = day(nth);
    if (!FailingCommit::failed()) break;
    ++failed;
    CHECK(differences(with.rows, without.rows) == "");
    CHECK(differences(with.log, without.log) == "");
    CHECK(differences(with.lead, without.lead) == "");
    CHECK(differences(with.boxes, without.boxes) == "");
    CHECK(differences(with.memory, without.memory) == "");
  }
  CHECK(failed > 15);
}

TEST_CASE("rows, lines and what follows are there together after the commit, and not before") {
  OneTeam world;
  bool followed = false;
  REQUIRE(world.context.commit([&](Tx& tx) {
    tx.keep(tx.ledger.members().put(world.row));
    tx.log(Event::message_ignored, line);
    tx.then([&] { followed = true; });
    CHECK_FALSE(world.logged("message.ignored"));
    CHECK_FALSE(followed);
  }));
  CHECK((world.has_row() && world.logged("message.ignored") && followed));
  CHECK(world.ledger->history().of_message({std::string(32, 'a')})->size() == 1);
}

TEST_CASE("after the first failure nothing is written, and the whole never was") {
  OneTeam world;
  bool followed = false;
  const auto committed = world.context.commit([&](Tx& tx) {
    tx.then([&] { followed = true; });
    tx.log(Event::message_ignored, line);
    tx.keep(tx.ledger.members().put(world.row));
    tx.keep(Error{"test.first", "the first"});
    tx.keep(Error{"test.second", "the second"});
    tx.log(Event::message_malformed, line);
  });
  REQUIRE_FALSE(committed);
  CHECK(committed.error().code == "test.first");
  CHECK_FALSE((world.has_row() || world.logged("message.ignored") || world.logged("message.malformed") || followed));
  CHECK(world.ledger->history().of_message({std::string(32, 'a')})->empty());
}

TEST_CASE("a part that fails takes its rows, lines and what follows with it, and the rest stays") {
  OneTeam world;
  std::string followed;
  Status part = Done{};
  REQUIRE(world.context.commit([&](Tx& tx) {
    tx.keep(tx.ledger.members().put(world.row));
    tx.log(Event::message_ignored, line);
    tx.then([&] { followed += "rest"; });
    part = tx.attempt(
        [&](Tx& inner) {
          inner.log(Event::message_malformed, line);
          inner.then([&] { followed += "part"; });
          inner.keep(Error{"test.part", "the part"});
        },
        CommitAs::fact);
    tx.then([&] { followed += ", end"; });
  }));
  CHECK((!part && part.error().code == "test.part"));
  CHECK((world.has_row() && world.logged("message.ignored") && !world.logged("message.malformed")));
  CHECK(followed == "rest, end");
  CHECK(world.ledger->history().of_message({std::string(32, 'a')})->size() == 1);
}

TEST_CASE("a decision waits for the right to decide, a fact does not") {
  OneTeam world;
  world.context.guard = [] { return Status(Error{"", "another node leads"}); };
  const auto put = [&](Tx& tx) { tx.keep(tx.ledger.members().put(world.row)); };
  const auto refused = world.context.commit(put);
  CHECK((!refused && refused.error().code == "cluster.no_lease"));
  CHECK_FALSE(world.has_row());
  CHECK(world.context.ledger_fault().empty());  // nothing is broken
  CHECK(world.context.commit(put, CommitAs::fact));
  CHECK(world.has_row());
}

TEST_CASE("work that refuses is no fault of the ledger, and does not mend one") {
  OneTeam world;
  const auto refuses = [](Tx&) -> Status { return Error{"order.not_carried", "rules do not exist there"}; };
  CHECK_FALSE(world.context.commit(refuses));
  CHECK(world.context.ledger_fault().empty());
  world.context.heard_of_ledger(Error{"ledger.io", "the disk is gone"});
  CHECK_FALSE(world.context.commit(refuses));
  CHECK(world.context.ledger_fault() == "the disk is gone");
  CHECK(world.logged("ledger.fault") == 1);
}

TEST_CASE("what fails because the ledger is gone is not logged for each team: the daemon logs it") {
  OneTeam world;
  const Status failed = Error{"ledger.damaged", "a read that found no page"};
  SECTION("of a ledger that is there, it is") {
    world.context.heard_of_ledger(failed);
    CHECK(world.logged("ledger.fault") == 1);
  }
  SECTION("of a ledger that was taken away, it is not") {
    std::filesystem::remove(world.scratch.path("ledger.db"));
    world.context.heard_of_ledger(failed);
    CHECK(world.logged("ledger.fault") == 0);
  }
  CHECK_FALSE(world.context.ledger_fault().empty());
}

TEST_CASE("what follows a commit opens no transaction") {
  OneTeam world;
  Status within = Done{};
  REQUIRE(world.context.commit([&](Tx& tx) {
    tx.then([&] { within = world.context.commit([&](Tx& other) { other.keep(other.ledger.members().put(world.row)); }); });
  }));
  CHECK((!within && within.error().code == "ledger.sql"));
  CHECK_FALSE(world.has_row());
}

}  // namespace inbox_poller::test::tx_test
