#include "poller/context/tally.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::tally_test {

using inbox_poller::poller::Spread;
using inbox_poller::poller::Tally;

TEST_CASE("a spread counts up to each bound, and in all") {
  Spread<2> spread{{10, 100}};
  for (const long long ms : {0LL, 10LL, 11LL, 100LL, 101LL, -5LL}) spread.add(ms);
  CHECK(spread.up_to == std::array<std::uint64_t, 2>{3, 5});
  CHECK(spread.count == 6);
  CHECK(spread.sum_ms == 222);
}

TEST_CASE("decisions are counted by what they were; only those that waited have waited") {
  Tally tally;
  tally.decided({"permission", "approved", "rule"}, -1);
  tally.decided({"permission", "approved", "carol"}, 2'000);
  tally.decided({"permission", "approved", "carol"}, 70'000);
  CHECK(tally.decisions.at({"permission", "approved", "carol"}) == 2);
  CHECK(tally.waits.count == 2);
  CHECK(tally.waits.up_to == std::array<std::uint64_t, 6>{0, 1, 1, 1, 2, 2});
}

TEST_CASE("as many names as anybody makes up take no more room than a few hundred") {
  Tally tally;
  for (int i = 0; i < 5'000; ++i) tally.decided({"permission", "approved", std::to_string(i)}, 1);
  CHECK(tally.decisions.size() <= 201);
  std::uint64_t all = 0;
  for (const auto& [one, count] : tally.decisions) all += count;
  CHECK(all == 5'000);
}

}  // namespace inbox_poller::tally_test
