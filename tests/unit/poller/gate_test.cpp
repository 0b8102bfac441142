// The busy/idle gate, cell by cell.
#include <array>

#include "poller/delivery/gate.hpp"
#include "tests/support/catch.hpp"

using namespace inbox_poller::poller;

TEST_CASE("the gate's table says where every report leads from every state") {
  struct Row {
    LeadState from;
    LeadEvent event;
    LeadState to;
  };
  const auto row = GENERATE(values<Row>({
      {LeadState::idle, LeadEvent::reports_busy, LeadState::busy},
      {LeadState::idle, LeadEvent::reports_idle, LeadState::idle},
      {LeadState::idle, LeadEvent::reports_gone, LeadState::gone},
      {LeadState::idle, LeadEvent::busy_limit_passes, LeadState::idle},
      {LeadState::busy, LeadEvent::reports_busy, LeadState::busy},
      {LeadState::busy, LeadEvent::reports_idle, LeadState::idle},
      {LeadState::busy, LeadEvent::reports_gone, LeadState::gone},
      {LeadState::busy, LeadEvent::busy_limit_passes, LeadState::idle},
      {LeadState::gone, LeadEvent::reports_busy, LeadState::busy},
      {LeadState::gone, LeadEvent::reports_idle, LeadState::idle},
      {LeadState::gone, LeadEvent::reports_gone, LeadState::gone},
      {LeadState::gone, LeadEvent::busy_limit_passes, LeadState::gone},
  }));
  CHECK(next(row.from, row.event) == row.to);
}

TEST_CASE("chat passes only to an idle lead") {
  CHECK(is_open(LeadState::idle));
  CHECK_FALSE(is_open(LeadState::busy));
  CHECK_FALSE(is_open(LeadState::gone));
}

TEST_CASE("the states' names are read back") {
  for (const auto state : {LeadState::idle, LeadState::busy, LeadState::gone})
    CHECK(parse_lead_state(to_string(state)) == state);
  CHECK_FALSE(parse_lead_state("asleep").has_value());
}
