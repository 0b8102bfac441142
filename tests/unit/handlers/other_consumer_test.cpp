// When another consumer of the inbox is believed in, and what we are beside it.
#include "handlers/other_consumer.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::handlers::other_consumer_test {

using namespace std::chrono_literals;

TEST_CASE("one sign may be a tool that a person used, two within ten minutes are a consumer") {
  CHECK_FALSE(are_believed({}));
  CHECK_FALSE(are_believed({0ms}));
  CHECK(are_believed({0ms, 0ms}));
  CHECK(are_believed({10min, 0ms}));
  CHECK_FALSE(are_believed({10min + 1ms, 0ms}));
  CHECK(are_believed({1h, 9min, 0ms}));
}

TEST_CASE("beside another consumer we are what the operator said, and never its equal") {
  CHECK(role_beside(config::OnCompetingConsumer::stop) == EffectiveRole::paused);
  CHECK(role_beside(config::OnCompetingConsumer::observe) == EffectiveRole::observer);
  CHECK_FALSE(role_beside(config::OnCompetingConsumer::ignore).has_value());
}

TEST_CASE("hosts say how we stand, unless a consumer was met here") {
  for (const auto role : {EffectiveRole::leader, EffectiveRole::standby, EffectiveRole::follower})
    CHECK(follows_nodes(role));
  for (const auto role : {EffectiveRole::paused, EffectiveRole::interceptor, EffectiveRole::observer})
    CHECK_FALSE(follows_nodes(role));
}

TEST_CASE("what is unread is shown again when we begin or cease to take mail for the lead, not when we only stop") {
  CHECK(reads_anew(EffectiveRole::leader, EffectiveRole::observer));
  CHECK(reads_anew(EffectiveRole::observer, EffectiveRole::leader));
  CHECK(reads_anew(EffectiveRole::interceptor, EffectiveRole::observer));
  CHECK_FALSE(reads_anew(EffectiveRole::leader, EffectiveRole::paused));
  CHECK_FALSE(reads_anew(EffectiveRole::paused, EffectiveRole::leader));
  CHECK_FALSE(reads_anew(EffectiveRole::observer, EffectiveRole::observer));
}

TEST_CASE("only who leads by configuration can have given way") {
  CHECK(gave_way(config::Role::leader, EffectiveRole::paused));
  CHECK(gave_way(config::Role::leader, EffectiveRole::observer));
  CHECK_FALSE(gave_way(config::Role::leader, EffectiveRole::leader));
  CHECK_FALSE(gave_way(config::Role::observer, EffectiveRole::observer));
}

}  // namespace inbox_poller::handlers::other_consumer_test
