#include "handlers/request_state.hpp"

#include <array>

#include "tests/support/catch.hpp"

namespace inbox_poller::handlers::request_state_test {

namespace {

constexpr std::array states{
    RequestState::received, RequestState::pending,   RequestState::approved,          RequestState::denied,
    RequestState::expired,  RequestState::withdrawn, RequestState::answered_elsewhere};
constexpr std::array events{RequestEvent::rule_allows,   RequestEvent::rule_denies,
                            RequestEvent::rule_asks,     RequestEvent::person_approves,
                            RequestEvent::person_denies, RequestEvent::deadline_passes,
                            RequestEvent::asker_leaves,  RequestEvent::answered_by_other};

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

TEST_CASE("a request is approved by a rule or by a person while it waits, and in no other way") {
  for (const RequestState state : states) {
    for (const RequestEvent event : events) {
      if (transition(state, event) != RequestState::approved) continue;
      const bool by_rule = is_open(state) && event == RequestEvent::rule_allows;
      const bool by_person = state == RequestState::pending && event == RequestEvent::person_approves;
      CHECK((by_rule || by_person));
    }
  }
}

TEST_CASE("a request is open exactly as long as an event can move it") {
  for (const RequestState state : states) {
    bool moves = false;
    for (const RequestEvent event : events) moves = moves || transition(state, event).has_value();
    INFO(to_string(state));
    CHECK(is_open(state) == moves);
  }
}

TEST_CASE("kinds and states are read back from the names they are stored under") {
  for (const RequestState state : states) CHECK(schema::parse<RequestState>(to_string(state)) == state);
  for (const RequestKind kind : {RequestKind::permission, RequestKind::sandbox, RequestKind::plan}) {
    CHECK(schema::parse<RequestKind>(to_string(kind)) == kind);
  }
  CHECK_FALSE(schema::parse<RequestState>("Approved"));
  CHECK_FALSE(schema::parse<RequestState>(""));
  CHECK_FALSE(schema::parse<RequestKind>("permissions"));
}

TEST_CASE("no two events share a name") {
  for (const RequestEvent one : events) {
    for (const RequestEvent other : events) CHECK((to_string(one) == to_string(other)) == (one == other));
  }
}

}  // namespace inbox_poller::handlers::request_state_test
