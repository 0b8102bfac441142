#include "handlers/direction.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::direction_test {

using testing::Team;

namespace {

constexpr std::array sides{Side::member, Side::former, Side::lead, Side::listed, Side::stranger};
constexpr std::array places{Place::lead, Place::alias, Place::worker};

std::string_view word(Passage passage) {
  switch (passage) {
    case Passage::request: return "request";
    case Passage::answer: return "answer";
    case Passage::status: return "status";
    case Passage::chat: return "chat";
    case Passage::unknown: return "unknown";
    case Passage::verdict: return "verdict";
    case Passage::order: return "order";
    case Passage::private_talk: return "talk";
    case Passage::refuse: return "-";
  }
  return "?";
}

/// One payload of every type, by the name that the matrix and the documentation use.
std::map<std::string, schema::Payload> payloads() {
  std::map<std::string, schema::Payload> by_name{{"unknown", schema::UnknownPayload{"peer_dm_sent"}},
                                                 {"malformed", schema::MalformedPayload{"permission_request", "x"}}};
  const std::vector<schema::Payload> named{schema::PlainText{},
                                           schema::PermissionRequest{},
                                           schema::PermissionResponse{},
                                           schema::SandboxPermissionRequest{},
                                           schema::SandboxPermissionResponse{},
                                           schema::PlanApprovalRequest{},
                                           schema::PlanApprovalResponse{},
                                           schema::ModeSetRequest{},
                                           schema::ShutdownRequest{},
                                           schema::ShutdownApproved{},
                                           schema::ShutdownRejected{},
                                           schema::TeamPermissionUpdate{},
                                           schema::IdleNotification{},
                                           schema::TaskAssignment{},
                                           schema::TaskCompleted{},
                                           schema::TeammateTerminated{}};
  for (const schema::Payload& payload : named) by_name.emplace(schema::type_name(payload), payload);
  return by_name;
}

/// The table once more, as people draw it: type, then a cell for each side, for each of the three places. The sides are
/// member, former, lead, listed, stranger; "-" is refused.
constexpr const char* drawn = R"(
                              the lead's inbox               an alias of it                  a worker's inbox
chat                          chat    chat   -      chat -   chat    chat   -      chat -    talk talk talk    talk talk
unknown                       unknown -      -      -    -   unknown -      -      -    -    talk talk talk    talk talk
malformed                     -       -      -      -    -   -       -      -      -    -    talk talk verdict talk talk
permission_request            request -      -      -    -   -       -      -      -    -    -    -    -       -    -
sandbox_permission_request    request -      -      -    -   -       -      -      -    -    -    -    -       -    -
plan_approval_request         request -      -      -    -   -       -      -      -    -    -    -    -       -    -
permission_response           -       -      -      -    -   -       -      -      -    -    -    -    verdict -    -
sandbox_permission_response   -       -      -      -    -   -       -      -      -    -    -    -    verdict -    -
plan_approval_response        -       -      -      -    -   -       -      -      -    -    -    -    verdict -    -
mode_set_request              -       -      -      -    -   -       -      -      -    -    -    -    order   -    -
team_permission_update        -       -      -      -    -   -       -      -      -    -    -    -    order   -    -
shutdown_request              request -      -      -    -   -       -      -      -    -    -    -    order   -    -
shutdown_approved             answer  answer -      -    -   -       -      -      -    -    -    -    -       -    -
shutdown_rejected             answer  answer -      -    -   -       -      -      -    -    -    -    -       -    -
idle_notification             status  status -      -    -   status  status -      -    -    talk talk talk    talk talk
task_assignment               status  status status -    -   status  status status -    -    talk talk order   talk talk
task_completed                status  status -      -    -   status  status -      -    -    talk talk talk    talk talk
teammate_terminated           -       -      -      -    -   -       -      -      -    -    -    -    talk    -    -
)";

std::string place_name(Place place) {
  switch (place) {
    case Place::lead: return "the lead's inbox";
    case Place::alias: return "an alias of it";
    case Place::worker: return "a worker's inbox";
  }
  return "?";
}

/// What a cell of docs/reference/protocol.md means.
std::string word(const std::string& cell) {
  static const std::map<std::string, std::string> words{{"judged", "request"},
                                                        {"answer", "answer"},
                                                        {"status", "status"},
                                                        {"to the lead", "chat"},
                                                        {"as `delivery.unknown`", "unknown"},
                                                        {"answer of the lead", "verdict"},
                                                        {"order of the lead", "order"},
                                                        {"left alone", "talk"},
                                                        {"refused", "-"}};
  const auto found = words.find(cell);
  return found == words.end() ? "no such word: " + cell : found->second;
}

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(by, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + by.size();
  }
  return parts;
}

}  // namespace

TEST_CASE("every cell of the direction table is as drawn, and every type has a line") {
  const auto payload_of = payloads();
  REQUIRE(payload_of.size() == std::variant_size_v<schema::Payload>);
  std::set<std::string> lines;
  std::istringstream table(drawn);
  std::string line;
  std::getline(table, line);
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    std::string type, cell;
    cells >> type;
    REQUIRE(payload_of.count(type) == 1);
    lines.insert(type);
    for (const Place place : places) {
      for (std::size_t column = 0; column < sides.size(); ++column) {
        INFO(type << " in " << place_name(place) << ", column " << column);
        REQUIRE(cells >> cell);
        CHECK(word(direction_of(payload_of.at(type), sides[column], place).passage) == cell);
      }
    }
    CHECK_FALSE(cells >> cell);
  }
  CHECK(lines.size() == payload_of.size());
}

TEST_CASE("docs/reference/protocol.md shows the same table, every cell once") {
  std::ifstream file(std::filesystem::path(INBOX_POLLER_SOURCE) / "docs/reference/protocol.md");
  REQUIRE(file);
  const auto payload_of = payloads();
  std::set<std::pair<std::string, std::string>> shown;
  std::string line, heading;
  while (std::getline(file, line)) {
    if (line.rfind("### In ", 0) == 0) heading = line.substr(7);
    if (line.rfind("## ", 0) == 0) heading.clear();
    const std::vector<std::string> cells = split(line, " | ");
    if (heading.empty() || line.rfind("| ", 0) != 0 || cells.front() == "| type") continue;
    REQUIRE(cells.size() == 6);
    for (std::string type : split(cells.front().substr(2), ", ")) {
      INFO(type << " in " << heading);
      if (type == "unknown type") type = "unknown";
      REQUIRE(payload_of.count(type) == 1);
      CHECK(shown.insert({heading, type}).second);
      const auto place = std::find_if(places.begin(), places.end(), [&](Place p) { return place_name(p) == heading; });
      REQUIRE(place != places.end());
      for (std::size_t column = 0; column < sides.size(); ++column) {
        std::string cell = cells[column + 1];
        if (column == 4) cell = cell.substr(0, cell.rfind(" |"));
        INFO("column " << column);
        CHECK(word(cell) == word(direction_of(payload_of.at(type), sides[column], *place).passage));
      }
    }
  }
  CHECK(shown.size() == payload_of.size() * places.size());
}

TEST_CASE("exactly the refusals give a reason") {
  for (const auto& [name, payload] : payloads()) {
    for (const Place place : places) {
      for (const Side side : sides) {
        INFO(name << " in " << place_name(place));
        const Direction direction = direction_of(payload, side, place);
        CHECK(direction.reason.empty() == (direction.passage != Passage::refuse));
      }
    }
  }
}

TEST_CASE("a member's refused types are told apart by their reasons") {
  std::set<std::string_view> reasons;
  std::size_t refused = 0;
  for (const auto& [name, payload] : payloads()) {
    const Direction direction = direction_of(payload, Side::member, Place::lead);
    if (direction.passage != Passage::refuse) continue;
    ++refused;
    reasons.insert(direction.reason);
  }
  CHECK(refused == 7);
  CHECK(reasons.size() == refused);
}

TEST_CASE("in the name of nobody but the lead is anything answered or ordered, whatever inbox it stands in") {
  for (const auto& [name, payload] : payloads()) {
    for (const Place place : places) {
      for (const Side side : sides) {
        const Passage passage = direction_of(payload, side, place).passage;
        INFO(name << " in " << place_name(place));
        if (passage == Passage::verdict || passage == Passage::order) CHECK(side == Side::lead);
        if (passage == Passage::request) CHECK((side == Side::member && place == Place::lead));
      }
    }
  }
}

TEST_CASE("a sender is known by its bare name, exactly spelled") {
  const Team team;
  const TeamView view = team.view();
  CHECK(side_of("w1", view) == Side::member);
  CHECK(side_of("w1@falcon", view) == Side::member);
  CHECK(side_of("old-hand", view) == Side::former);
  CHECK(side_of("team-lead", view) == Side::lead);
  CHECK(side_of("team-lead@other", view) == Side::lead);
  CHECK(side_of("user", view) == Side::listed);
  for (const char* name : {"W1", "w1 ", " w1", "w", "w11", "Team-Lead", "nobody", "", "@falcon", "../w1", "w1/..",
                           "w1\n", "-w1", "\xE2\x80\xAEw1", "w.1"}) {
    INFO(name);
    CHECK(side_of(name, view) == Side::stranger);
  }
}

TEST_CASE("whoever comes back is a member again, and the lead is the lead even if the roster or a list names it") {
  Team team;
  team.former = {"w1", "team-lead"};
  team.config.delivery.allowed_senders = {"w1", "team-lead", "old-hand", "../user"};
  CHECK(side_of("w1", team.view()) == Side::member);
  CHECK(side_of("team-lead", team.view()) == Side::lead);
  CHECK(side_of("old-hand", team.view()) == Side::listed);
  CHECK(side_of("../user", team.view()) == Side::stranger);
  team.lead = "boss";
  CHECK(side_of("boss", team.view()) == Side::lead);
}

}  // namespace inbox_poller::handlers::direction_test
