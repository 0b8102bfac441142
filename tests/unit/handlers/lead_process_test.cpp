#include "handlers/lead_process.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::lead_process_test {

using namespace inbox_poller::handlers;

TEST_CASE("a claim is alive while exactly its process is, as far as that can be seen") {
  using S = LeadProcessState;
  constexpr std::optional<bool> unknown;
  struct Row {
    bool here, lives;
    std::optional<bool> then;
    bool later;
    S expected;
  };
  for (const Row& row : {Row{true, true, true, false, S::lives}, Row{true, true, true, true, S::lives},
                         Row{true, true, unknown, false, S::lives}, Row{true, true, unknown, true, S::gone},
                         Row{true, true, false, false, S::gone}, Row{true, true, false, true, S::gone},
                         Row{true, false, unknown, false, S::gone}, Row{false, true, true, false, S::lives},
                         Row{false, true, false, false, S::elsewhere}, Row{false, true, unknown, false, S::elsewhere},
                         Row{false, false, unknown, false, S::elsewhere}}) {
    CAPTURE(row.here, row.lives, row.then.has_value(), row.later);
    CHECK(state_of({row.here, row.lives, row.then, row.later}) == row.expected);
  }
}

}  // namespace inbox_poller::lead_process_test
