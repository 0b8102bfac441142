// The slice of a sweep that the usual run takes (tests/support/portion.hpp); it belongs to no room, and stands with the first.
#include "tests/support/portion.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace inbox_poller::schema::portion_test {
namespace {

using test::Points;

std::vector<int> slice(int step, unsigned seed, int count = 50) {
  Points points(step, seed);
  std::vector<int> found;
  for (int i = 0; i < count; ++i) found.push_back(points.next());
  return found;
}

TEST_CASE("portion: a slice has one point of each stretch, in their order") {
  const auto found = slice(7, 1);
  for (int i = 0; i < static_cast<int>(found.size()); ++i) {
    CHECK(found[static_cast<std::size_t>(i)] > 7 * i);
    CHECK(found[static_cast<std::size_t>(i)] <= 7 * (i + 1));
  }
}

TEST_CASE("portion: two slices of one seed are equal, those of another one differ") {
  CHECK(slice(7, 1) == slice(7, 1));
  CHECK(slice(7, 1) != slice(7, 2));
}

TEST_CASE("portion: every point of a stretch is drawn by some seed") {
  std::vector<bool> drawn(7);
  for (unsigned seed = 1; seed <= 200; ++seed) drawn[static_cast<std::size_t>(slice(7, seed, 1).front() - 1)] = true;
  CHECK(drawn == std::vector<bool>(7, true));
}

TEST_CASE("portion: a step of one takes every point") { CHECK(slice(1, 1, 4) == std::vector<int>{1, 2, 3, 4}); }

}  // namespace
}  // namespace inbox_poller::schema::portion_test
