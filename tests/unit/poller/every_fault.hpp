// A test body run with every fault there is.
#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/portion.hpp"

namespace inbox_poller::test {

/// Runs `body`, which returns whether the fault was met, with every fault there is; returns how many were met. The usual
/// run takes one call of each `step`.
template <class Body>
unsigned with_every_fault(Body body, int step = 1) {
  unsigned met = 0;
  for (int call = 0; call <= static_cast<int>(last_call); ++call) {
    // The errors that our code treats alike, by one example; EACCES is treated apart at locks. Not ENOENT: that is no
    // failure but a statement about a file, and believed.
    for (const int error : {EIO, EACCES}) {
      for (const bool for_good : {false, true}) {
        Points points(is_long_form() ? 1 : step, portion_seed() + static_cast<unsigned>(call));
        while (true) {
          const auto nth = static_cast<unsigned>(points.next());
          REQUIRE(nth < 1000);
          CAPTURE(call, error, for_good, nth);
          if (!body(Fault{static_cast<Call>(call), nth, error, for_good})) break;
          ++met;
        }
      }
    }
  }
  return met;
}

}  // namespace inbox_poller::test
