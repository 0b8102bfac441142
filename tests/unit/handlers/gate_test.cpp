// The busy/idle gate, cell by cell, as code, as it is drawn here and as docs/dev/architecture.md shows it.
#include "handlers/gate.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/catch.hpp"

namespace inbox_poller::gate_test {

using namespace inbox_poller::handlers;
namespace schema = inbox_poller::schema;

namespace {

constexpr LeadState states[] = {LeadState::idle, LeadState::busy, LeadState::offline};

/// The state before is the column, the state after the cell.
constexpr const char* drawn = R"(
event              idle  busy  offline
reports_busy       busy  busy  busy
reports_idle       idle  idle  idle
reports_offline       offline  offline  offline
session_starts     idle  idle  idle
prompt_submitted   busy  busy  busy
tool_used          busy  busy  busy
turn_stops         idle  idle  idle
turn_continues     busy  busy  busy
turn_fails         idle  idle  idle
turn_interrupted   idle  idle  offline
prompt_waits       idle  idle  idle
session_ends       offline  offline  offline
stream_opens       idle  idle  idle
stream_works       busy  busy  busy
stream_result      idle  idle  idle
stream_closes      offline  offline  offline
session_works      busy  busy  busy
session_rests      idle  idle  idle
batch_pushed       busy  busy  offline
busy_limit_passes  idle  idle  offline
disconnects        offline  offline  offline
)";

}  // namespace

TEST_CASE("every cell of the gate's table is as drawn, and every event has a line") {
  std::istringstream table(drawn);
  std::string line, name, cell;
  std::getline(table, line);
  std::getline(table, line);
  std::set<LeadEvent> lines;
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    cells >> name;
    const auto event = schema::parse<LeadEvent>(name);
    REQUIRE(event.has_value());
    CHECK(lines.insert(*event).second);
    for (const auto state : states) {
      INFO(name << " when " << to_string(state));
      REQUIRE(cells >> cell);
      CHECK(to_string(next(state, *event)) == cell);
    }
    CHECK_FALSE(cells >> cell);
  }
  CHECK(lines.size() == schema::values<LeadEvent>.size());
}

TEST_CASE("docs/dev/architecture.md shows the gate's table, every event once") {
  std::ifstream file(std::filesystem::path(INBOX_POLLER_SOURCE) / "docs/dev/architecture.md");
  REQUIRE(file);
  std::set<LeadEvent> shown;
  std::string line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.rfind("| event |", 0) == 0) inside = true;
    if (!inside || line.rfind("|---", 0) == 0 || line.rfind("| event |", 0) == 0) continue;
    if (line.rfind("| ", 0) != 0) break;
    std::istringstream cells(line);
    std::string bar, name, cell;
    cells >> bar >> name;
    REQUIRE(name.size() > 2);
    const auto event = schema::parse<LeadEvent>(name.substr(1, name.size() - 2));  // `name`
    INFO(line);
    REQUIRE(event.has_value());
    CHECK(shown.insert(*event).second);
    for (const auto state : states) {
      cells >> bar >> cell;
      CHECK(to_string(next(state, *event)) == cell);
    }
  }
  CHECK(shown.size() == schema::values<LeadEvent>.size());
}

TEST_CASE("nothing but a sign of life brings a lead back that has gone") {
  for (const auto event : {LeadEvent::batch_pushed, LeadEvent::busy_limit_passes, LeadEvent::disconnects})
    CHECK(next(LeadState::offline, event) == LeadState::offline);
}

TEST_CASE("chat passes only to an idle lead") {
  CHECK(is_open(LeadState::idle));
  CHECK_FALSE(is_open(LeadState::busy));
  CHECK_FALSE(is_open(LeadState::offline));
}

TEST_CASE("a lead tells its turns by what it says of them, not by what we do or by its going") {
  const std::set<LeadEvent> tells_nothing{LeadEvent::reports_offline,  LeadEvent::session_ends,
                                          LeadEvent::stream_closes, LeadEvent::batch_pushed,
                                          LeadEvent::disconnects,   LeadEvent::busy_limit_passes,
                                          LeadEvent::session_works, LeadEvent::session_rests};
  for (const auto event : schema::values<LeadEvent>) {
    INFO(to_string(event));
    CHECK(tells_turns(event) != tells_nothing.contains(event));
  }
}

TEST_CASE("a session's file tells of turns only where nobody else does") {
  CHECK(said_by_file("idle", "", false) == LeadEvent::session_rests);
  for (const auto* status : {"busy", "waiting", "shell"}) CHECK(said_by_file(status, "", false) == LeadEvent::session_works);
  for (const auto* status : {"", "Idle", "asleep"}) CHECK_FALSE(said_by_file(status, "", false));
  const std::set<LeadEvent> no_word{LeadEvent::session_works, LeadEvent::session_rests, LeadEvent::batch_pushed,
                                    LeadEvent::busy_limit_passes};
  for (const auto event : schema::values<LeadEvent>) {
    INFO(to_string(event));
    CHECK(said_by_file("busy", to_string(event), false).has_value() == no_word.contains(event));
    CHECK_FALSE(said_by_file("busy", to_string(event), true));
  }
}

TEST_CASE("the names of states and events are read back, and nothing else is") {
  for (const auto state : states) CHECK(schema::parse<LeadState>(to_string(state)) == state);
  for (const auto event : schema::values<LeadEvent>) CHECK(schema::parse<LeadEvent>(to_string(event)) == event);
  for (const char* text : {"", "asleep", "IDLE", "idle ", "batch pushed"}) {
    CHECK_FALSE(schema::parse<LeadState>(text).has_value());
    CHECK_FALSE(schema::parse<LeadEvent>(text).has_value());
  }
}

}  // namespace inbox_poller::gate_test
