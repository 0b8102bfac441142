#include "schema/client_version.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::client_version_test {

using namespace inbox_poller::schema;

TEST_CASE("a client says its version before anything else") {
  CHECK(parse_client_version("2.1.50 (Claude Code)\n") == oldest_client);
  CHECK(parse_client_version("  2.1.330\n") == ClientVersion{2, 1, 330});
  CHECK(parse_client_version("3.0.0-beta.1 (Claude Code)") == ClientVersion{3, 0, 0});
  for (const auto* text : {"", "2", "2.1", "2.1.", "2.1.x", "2.1.50x", "v", "claude 2.1.50", "-2.1.50", "2.-1.50",
                           "2.1.99999999999", "2.1.50.1", "2. 1.50"}) {
    INFO(text);
    CHECK_FALSE(parse_client_version(text));
  }
  CHECK(to_string(oldest_client) == "2.1.50");
}

TEST_CASE("a client of an unknown version counts as one that does not tell a subagent's events from its own") {
  for (const auto* version : {"2.1.69", "2.1.330", "2.2.0"}) CHECK(names_subagents(version));
  for (const auto* version : {"2.1.68", "2.1.50", "", "x"}) CHECK_FALSE(names_subagents(version));
}

TEST_CASE("versions compare as numbers, and an event is known from its first version on") {
  CHECK(ClientVersion{2, 1, 139} > ClientVersion{2, 1, 78});
  CHECK(ClientVersion{2, 2, 0} > ClientVersion{2, 1, 330});
  CHECK_FALSE(takes_event({2, 1, 77}, "StopFailure"));
  CHECK(takes_event({2, 1, 78}, "StopFailure"));
  CHECK(takes_event({3, 0, 0}, "StopFailure"));
  CHECK(takes_event(oldest_client, "Stop"));
  CHECK_FALSE(takes_event(oldest_client, "FileChanged"));
  CHECK_FALSE(takes_event({2, 1, 138}, "NoSuchEvent"));
  CHECK(takes_event({2, 1, 139}, "NoSuchEvent"));
  CHECK_FALSE(takes_event(oldest_client, "PostToolBatch"));
}

}  // namespace inbox_poller::client_version_test
