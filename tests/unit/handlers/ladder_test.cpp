// The delivery ladder: which way is used, of those there are.
#include "handlers/ladder.hpp"

#include "tests/support/catch.hpp"

using namespace inbox_poller;
using namespace inbox_poller::handlers;
using config::Rung;

TEST_CASE("the first way that is available is used, in the order in which they stand") {
  CHECK(choose({{Rung::stdin_stream, false, "x"}, {Rung::exec, true, {}}, {Rung::file, true, {}}}) == Rung::exec);
  CHECK(choose({{Rung::file, true, {}}, {Rung::exec, true, {}}}) == Rung::file);
  CHECK(choose({{Rung::tmux, true, {}}}) == Rung::tmux);
}

TEST_CASE("without an available way there is none") {
  CHECK_FALSE(choose({}).has_value());
  CHECK_FALSE(choose({{Rung::hook, false, "no hook"}, {Rung::exec, false, "not set"}}).has_value());
}

TEST_CASE("every way has a name that is read back") {
  for (const auto rung : schema::values<config::Rung>)
    CHECK(schema::parse<config::Rung>(config::to_string(rung)) == rung);
  for (const char* text : {"", "Exec", "stdin_stream", "mail"})
    CHECK_FALSE(schema::parse<config::Rung>(text).has_value());
}

namespace {

/// Why this way cannot be used; "" when it can.
std::string why_not(Rung rung, const RungSight& sight, const config::DeliverySettings& delivery = {}) {
  const auto state = state_of(rung, sight, delivery);
  CHECK(state.rung == rung);
  CHECK(state.available == state.reason.empty());
  return state.reason;
}

RungSight held() {
  RungSight sight;
  sight.held = true;
  return sight;
}

}  // namespace

TEST_CASE("ways that pull are there while somebody holds their end") {
  for (const auto rung : {Rung::stdin_stream, Rung::socket}) {
    CHECK(why_not(rung, held()).empty());
    CHECK_FALSE(why_not(rung, {}).empty());
  }
}

TEST_CASE("hooks carry messages of a busy lead, and of an idle one only where a hook waits") {
  RungSight sight;
  sight.lead = LeadState::busy;
  CHECK_FALSE(why_not(Rung::hook, sight).empty());  // no session was heard
  sight.heard_session = true;
  CHECK(why_not(Rung::hook, sight).empty());
  sight.lead = LeadState::idle;
  CHECK_FALSE(why_not(Rung::hook, sight).empty());
  sight.held = true;
  CHECK(why_not(Rung::hook, sight).empty());
}

TEST_CASE("ways that push are there when they are configured, and a terminal when its pane is known") {
  config::DeliverySettings delivery;
  CHECK(why_not(Rung::exec, {}, delivery) == "delivery.exec is not set");
  CHECK(why_not(Rung::file, {}, delivery) == "delivery.file is not set");
  delivery.exec.argv = {"tell"};
  delivery.file = "/tmp/messages";
  CHECK(why_not(Rung::exec, {}, delivery).empty());
  CHECK(why_not(Rung::file, {}, delivery).empty());
  CHECK(why_not(Rung::tmux, {}).empty());
  RungSight sight;
  sight.no_pane = "no pane";
  CHECK(why_not(Rung::tmux, sight) == "no pane");
}

TEST_CASE("a way that failed is left alone for a while, whatever else holds") {
  for (const auto rung : schema::values<config::Rung>) {
    auto sight = held();
    sight.failed = "it failed";
    CHECK(why_not(rung, sight) == "it failed");
  }
}
