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
  CHECK(stance_beside(config::ForeignConsumer::stop) == Stance::stopped);
  CHECK(stance_beside(config::ForeignConsumer::observe) == Stance::observer);
  CHECK_FALSE(stance_beside(config::ForeignConsumer::ignore).has_value());
}

}  // namespace inbox_poller::handlers::other_consumer_test
