#include "handlers/direction.hpp"

#include <array>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers {

using testing::Team;

namespace {

constexpr std::array sides{Side::member, Side::former, Side::lead, Side::listed, Side::stranger};

std::string_view word(Passage passage) {
  switch (passage) {
    case Passage::ask: return "ask";
    case Passage::status: return "status";
    case Passage::chat: return "chat";
    case Passage::unknown: return "unknown";
    case Passage::refuse: return "-";
  }
  return "?";
}

struct Line {
  schema::Payload payload;
  std::array<const char*, 5> passage;
};

/// The table once more, as people draw it; "-" is refused.
const std::vector<Line>& drawn() {
  static const std::vector<Line> lines = {
      //                                     member     former    lead      listed  stranger
      {schema::PlainText{}, {"chat", "chat", "-", "chat", "-"}},
      {schema::UnknownPayload{"peer_dm_sent"}, {"unknown", "-", "-", "-", "-"}},
      {schema::MalformedPayload{"permission_request", "x"}, {"-", "-", "-", "-", "-"}},
      {schema::PermissionRequest{}, {"ask", "-", "-", "-", "-"}},
      {schema::PermissionResponse{}, {"-", "-", "-", "-", "-"}},
      {schema::SandboxPermissionRequest{}, {"ask", "-", "-", "-", "-"}},
      {schema::SandboxPermissionResponse{}, {"-", "-", "-", "-", "-"}},
      {schema::PlanApprovalRequest{}, {"ask", "-", "-", "-", "-"}},
      {schema::PlanApprovalResponse{}, {"-", "-", "-", "-", "-"}},
      {schema::ModeSetRequest{}, {"-", "-", "-", "-", "-"}},
      {schema::ShutdownRequest{}, {"-", "-", "-", "-", "-"}},
      {schema::ShutdownApproved{}, {"-", "-", "-", "-", "-"}},
      {schema::ShutdownRejected{}, {"-", "-", "-", "-", "-"}},
      {schema::TeamPermissionUpdate{}, {"-", "-", "-", "-", "-"}},
      {schema::IdleNotification{}, {"status", "status", "-", "-", "-"}},
      {schema::TaskAssignment{}, {"status", "status", "status", "-", "-"}},
      {schema::TaskCompleted{}, {"status", "status", "-", "-", "-"}},
      {schema::TeammateTerminated{}, {"-", "-", "-", "-", "-"}},
  };
  return lines;
}

}  // namespace

TEST_CASE("every cell of the direction table is as drawn, and every type has a line") {
  std::set<std::size_t> types;
  for (const Line& line : drawn()) {
    types.insert(line.payload.index());
    for (std::size_t column = 0; column < sides.size(); ++column) {
      INFO(schema::type_name(line.payload) << ", column " << column);
      CHECK(word(direction_of(line.payload, sides[column]).passage) == line.passage[column]);
    }
  }
  CHECK(types.size() == std::variant_size_v<schema::Payload>);
}

TEST_CASE("exactly the refusals give a reason") {
  for (const Line& line : drawn()) {
    for (const Side side : sides) {
      const Direction direction = direction_of(line.payload, side);
      CHECK(direction.reason.empty() == (direction.passage != Passage::refuse));
    }
  }
}

TEST_CASE("a member's refused types are told apart by their reasons") {
  std::set<std::string_view> reasons;
  std::size_t refused = 0;
  for (const Line& line : drawn()) {
    const Direction direction = direction_of(line.payload, Side::member);
    if (direction.passage != Passage::refuse) continue;
    ++refused;
    reasons.insert(direction.reason);
  }
  CHECK(refused == 10);
  CHECK(reasons.size() == refused);
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
  team.config.delivery.senders = {"w1", "team-lead", "old-hand", "../user"};
  CHECK(side_of("w1", team.view()) == Side::member);
  CHECK(side_of("team-lead", team.view()) == Side::lead);
  CHECK(side_of("old-hand", team.view()) == Side::listed);
  CHECK(side_of("../user", team.view()) == Side::stranger);
  team.lead = "boss";
  CHECK(side_of("boss", team.view()) == Side::lead);
}

}  // namespace inbox_poller::handlers
