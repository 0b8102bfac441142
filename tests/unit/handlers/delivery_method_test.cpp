// The delivery ladder: which way is used, of those there are.
#include "handlers/delivery_method.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::delivery_method_test {

using namespace inbox_poller::handlers;
using config::DeliveryMethod;

TEST_CASE("the first way that is available is used, in the order in which they stand") {
  CHECK(choose({{DeliveryMethod::stdin_stream, false, "x"}, {DeliveryMethod::exec, true, {}}, {DeliveryMethod::file, true, {}}}) == DeliveryMethod::exec);
  CHECK(choose({{DeliveryMethod::file, true, {}}, {DeliveryMethod::exec, true, {}}}) == DeliveryMethod::file);
  CHECK(choose({{DeliveryMethod::tmux, true, {}}}) == DeliveryMethod::tmux);
}

TEST_CASE("without an available way there is none") {
  CHECK_FALSE(choose({}).has_value());
  CHECK_FALSE(choose({{DeliveryMethod::hook, false, "no hook"}, {DeliveryMethod::exec, false, "not set"}}).has_value());
}

TEST_CASE("every way has a name that is read back") {
  for (const auto method : schema::values<config::DeliveryMethod>) CHECK(schema::parse<config::DeliveryMethod>(config::to_string(method)) == method);
  for (const char* text : {"", "Exec", "stdin_stream", "mail"}) CHECK_FALSE(schema::parse<config::DeliveryMethod>(text).has_value());
}

namespace {

/// Why this way cannot be used; "" when it can.
std::string why_not(DeliveryMethod method, const MethodSight& sight, const config::DeliverySettings& delivery = {}) {
  const auto state = state_of(method, sight, delivery);
  CHECK(state.method == method);
  CHECK(state.available == state.reason.empty());
  return state.reason;
}

MethodSight held() {
  MethodSight sight;
  sight.held = true;
  return sight;
}

}  // namespace

TEST_CASE("ways that pull are there while somebody holds their end") {
  for (const auto method : {DeliveryMethod::mcp, DeliveryMethod::stdin_stream, DeliveryMethod::channel, DeliveryMethod::socket}) {
    CHECK(why_not(method, held()).empty());
    CHECK_FALSE(why_not(method, {}).empty());
  }
}

TEST_CASE("hooks carry messages of a busy lead, and of an idle one only where a hook waits") {
  MethodSight sight;
  sight.lead = LeadState::busy;
  CHECK_FALSE(why_not(DeliveryMethod::hook, sight).empty());  // no session was heard
  sight.heard_session = true;
  CHECK(why_not(DeliveryMethod::hook, sight).empty());
  sight.lead = LeadState::idle;
  CHECK_FALSE(why_not(DeliveryMethod::hook, sight).empty());
  sight.held = true;
  CHECK(why_not(DeliveryMethod::hook, sight).empty());
}

TEST_CASE("ways that push are there when they are configured, and a terminal when its pane is known") {
  config::DeliverySettings delivery;
  CHECK(why_not(DeliveryMethod::exec, {}, delivery) == "delivery.exec is not set");
  CHECK(why_not(DeliveryMethod::file, {}, delivery) == "delivery.file is not set");
  delivery.exec.argv = {"tell"};
  delivery.file = "/tmp/messages";
  CHECK(why_not(DeliveryMethod::exec, {}, delivery).empty());
  CHECK(why_not(DeliveryMethod::file, {}, delivery).empty());
  CHECK(why_not(DeliveryMethod::tmux, {}).empty());
  MethodSight sight;
  sight.no_pane = "no pane";
  CHECK(why_not(DeliveryMethod::tmux, sight) == "no pane");
}

TEST_CASE("a way that failed is left alone for a while, whatever else holds") {
  for (const auto method : schema::values<config::DeliveryMethod>) {
    auto sight = held();
    sight.failed = "it failed";
    CHECK(why_not(method, sight) == "it failed");
  }
}

}  // namespace inbox_poller::delivery_method_test
