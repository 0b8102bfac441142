// The matcher "has this text in it", which Catch2 2 and 3 name differently.
#pragma once

#include <string>

#include "tests/support/catch.hpp"

namespace inbox_poller::test {

inline auto Contains(const std::string& part) {
#if CATCH_VERSION_MAJOR >= 3
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

}  // namespace inbox_poller::test
