#include "handlers/ask_state.hpp"

#include <array>

#include "tests/support/catch.hpp"

namespace inbox_poller::handlers::ask_state_test {

namespace {

constexpr std::array states{
    AskState::received, AskState::pending,   AskState::approved,          AskState::denied,
    AskState::expired,  AskState::withdrawn, AskState::answered_elsewhere};
constexpr std::array events{AskEvent::rule_allows,   AskEvent::rule_denies,
                            AskEvent::rule_asks,     AskEvent::person_approves,
                            AskEvent::person_denies, AskEvent::deadline_passes,
                            AskEvent::asker_leaves,  AskEvent::answered_by_other};

/// The table once more, as people draw it: a row a state, a column an event; "." is "stays as it is".
struct Line {
  const char* state;
  std::array<const char*, 8> next;
};
constexpr std::array<Line, 7> drawn{{
    // allows     denies    asks       approves    denies    deadline   leaves       by other
    {"received", {"approved", "denied", "pending", ".", ".", ".", ".", "."}},
    {"pending", {"approved", "denied", ".", "approved", "denied", "expired", "withdrawn", "answered_elsewhere"}},
    {"approved", {".", ".", ".", ".", ".", ".", ".", "."}},
    {"denied", {".", ".", ".", ".", ".", ".", ".", "."}},
    {"expired", {".", ".", ".", ".", ".", ".", ".", "."}},
    {"withdrawn", {".", ".", ".", ".", ".", ".", ".", "."}},
    {"answered_elsewhere", {".", ".", ".", ".", ".", ".", ".", "."}},
}};

}  // namespace

TEST_CASE("every cell of the request table is as drawn") {
  for (std::size_t row = 0; row < states.size(); ++row) {
    REQUIRE(to_string(states[row]) == drawn[row].state);
    for (std::size_t column = 0; column < events.size(); ++column) {
      INFO(drawn[row].state << " + " << to_string(events[column]));
      const auto next = transition(states[row], events[column]);
      CHECK((next ? to_string(*next) : ".") == drawn[row].next[column]);
    }
  }
}

TEST_CASE("an ask is approved by a rule or by a person while it waits, and in no other way") {
  for (const AskState state : states) {
    for (const AskEvent event : events) {
      if (transition(state, event) != AskState::approved) continue;
      const bool by_rule = is_open(state) && event == AskEvent::rule_allows;
      const bool by_person = state == AskState::pending && event == AskEvent::person_approves;
      CHECK((by_rule || by_person));
    }
  }
}

TEST_CASE("an ask is open exactly as long as an event can move it") {
  for (const AskState state : states) {
    bool moves = false;
    for (const AskEvent event : events) moves = moves || transition(state, event).has_value();
    INFO(to_string(state));
    CHECK(is_open(state) == moves);
  }
}

TEST_CASE("kinds and states are read back from the names they are stored under") {
  for (const AskState state : states) CHECK(schema::parse<AskState>(to_string(state)) == state);
  for (const AskKind kind : {AskKind::permission, AskKind::sandbox, AskKind::plan}) {
    CHECK(schema::parse<AskKind>(to_string(kind)) == kind);
  }
  CHECK_FALSE(schema::parse<AskState>("Approved"));
  CHECK_FALSE(schema::parse<AskState>(""));
  CHECK_FALSE(schema::parse<AskKind>("permissions"));
}

TEST_CASE("no two events share a name") {
  for (const AskEvent one : events) {
    for (const AskEvent other : events) CHECK((to_string(one) == to_string(other)) == (one == other));
  }
}

}  // namespace inbox_poller::handlers::ask_state_test
