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

TEST_CASE("a session reads the lead's inbox when its client made the team, and a person is at it") {
  using inbox_poller::schema::ClientMode;
  CHECK(reads_inbox({ClientMode::interactive, 1000, 1500}));
  CHECK_FALSE(reads_inbox({ClientMode::interactive, 1600, 1500}));  // it took the session up later, or was given its id
  CHECK_FALSE(reads_inbox({ClientMode::interactive, 1500, 1500}));
  CHECK_FALSE(reads_inbox({ClientMode::interactive, 0, 1500}));
  CHECK_FALSE(reads_inbox({ClientMode::interactive, 1000, 0}));
  CHECK_FALSE(reads_inbox({ClientMode::headless, 1000, 1500}));
  CHECK_FALSE(reads_inbox({ClientMode::unknown, 1000, 1500}));
}

}  // namespace inbox_poller::lead_process_test
