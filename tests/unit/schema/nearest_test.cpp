#include "schema/nearest.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::nearest_test {

using namespace inbox_poller::schema;

TEST_CASE("the nearest word is the one with the fewest slips, and none when there are too many") {
  const std::vector<std::string> known{"status", "shutdown", "shutdowns", "send", "rules"};
  CHECK(nearest("statsu", known) == "status");
  CHECK(nearest("shutdwons", known) == "shutdowns");
  CHECK(nearest("shutdown", known) == "shutdown");
  CHECK(nearest("rul", known) == "rules");
  CHECK(nearest("sned", known) == "send");
  CHECK(nearest("STATUS", known) == "status");
  CHECK(nearest("x", known).empty());
  CHECK(nearest("deploy", known).empty());
  CHECK(nearest(std::string(100'000, 's'), known).empty());
}

}  // namespace inbox_poller::nearest_test
