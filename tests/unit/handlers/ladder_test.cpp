// The delivery ladder: which way is used, of those there are.
#include "handlers/ladder.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::ladder_test {

using namespace inbox_poller::handlers;
using config::Way;

TEST_CASE("the first way that is available is used, in the order in which they stand") {
  CHECK(choose({{Way::stdin_stream, false, "x"}, {Way::exec, true, {}}, {Way::file, true, {}}}) == Way::exec);
  CHECK(choose({{Way::file, true, {}}, {Way::exec, true, {}}}) == Way::file);
  CHECK(choose({{Way::tmux, true, {}}}) == Way::tmux);
}

TEST_CASE("without an available way there is none") {
  CHECK_FALSE(choose({}).has_value());
  CHECK_FALSE(choose({{Way::hook, false, "no hook"}, {Way::exec, false, "not set"}}).has_value());
}

TEST_CASE("every way has a name that is read back") {
  for (const auto way : schema::values<config::Way>) CHECK(schema::parse<config::Way>(config::to_string(way)) == way);
  for (const char* text : {"", "Exec", "stdin_stream", "mail"}) CHECK_FALSE(schema::parse<config::Way>(text).has_value());
}

namespace {

/// Why this way cannot be used; "" when it can.
std::string why_not(Way way, const WaySight& sight, const config::DeliverySettings& delivery = {}) {
  const auto state = state_of(way, sight, delivery);
  CHECK(state.way == way);
  CHECK(state.available == state.reason.empty());
  return state.reason;
}

WaySight held() {
  WaySight sight;
  sight.held = true;
  return sight;
}

}  // namespace

TEST_CASE("ways that pull are there while somebody holds their end") {
  for (const auto way : {Way::mcp, Way::stdin_stream, Way::channel, Way::socket}) {
    CHECK(why_not(way, held()).empty());
    CHECK_FALSE(why_not(way, {}).empty());
  }
}

TEST_CASE("hooks carry messages of a busy lead, and of an idle one only where a hook waits") {
  WaySight sight;
  sight.lead = LeadState::busy;
  CHECK_FALSE(why_not(Way::hook, sight).empty());  // no session was heard
  sight.heard_session = true;
  CHECK(why_not(Way::hook, sight).empty());
  sight.lead = LeadState::idle;
  CHECK_FALSE(why_not(Way::hook, sight).empty());
  sight.held = true;
  CHECK(why_not(Way::hook, sight).empty());
}

TEST_CASE("ways that push are there when they are configured, and a terminal when its pane is known") {
  config::DeliverySettings delivery;
  CHECK(why_not(Way::exec, {}, delivery) == "delivery.exec is not set");
  CHECK(why_not(Way::file, {}, delivery) == "delivery.file is not set");
  delivery.exec.argv = {"tell"};
  delivery.file = "/tmp/messages";
  CHECK(why_not(Way::exec, {}, delivery).empty());
  CHECK(why_not(Way::file, {}, delivery).empty());
  CHECK(why_not(Way::tmux, {}).empty());
  WaySight sight;
  sight.no_pane = "no pane";
  CHECK(why_not(Way::tmux, sight) == "no pane");
}

TEST_CASE("a way that failed is left alone for a while, whatever else holds") {
  for (const auto way : schema::values<config::Way>) {
    auto sight = held();
    sight.failed = "it failed";
    CHECK(why_not(way, sight) == "it failed");
  }
}

}  // namespace inbox_poller::ladder_test
