#include "schema/client_version.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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

TEST_CASE("what a client can is known from its version, and nothing is known of none") {
  for (const auto* version : {"2.1.69", "2.1.330", "2.2.0", "3.0.0-beta.1"}) CHECK(can(version, Ability::names_subagents));
  for (const auto* version : {"2.1.68", "2.1.50", "", "x", "latest", "2.1", "2.1.99999999999"})
    CHECK_FALSE(can(version, Ability::names_subagents));
  CHECK(can("2.1.163", Ability::takes_stop_context));
  CHECK_FALSE(can("2.1.162", Ability::takes_stop_context));
  for (const auto* version : {"2.1.139", "2.1.141", "2.1.162"}) CHECK(can(version, Ability::is_woken));
  CHECK_FALSE(can("2.1.138", Ability::is_woken));
  CHECK(can("2.1.329", Ability::transcribes_hooks));
  CHECK_FALSE(can("2.1.240", Ability::transcribes_hooks));
}

TEST_CASE("what a client calls itself in its hooks' environment names its version") {
  CHECK(parse_agent("claude-code_2-1-141_harness") == ClientVersion{2, 1, 141});
  CHECK(parse_agent("claude-code_2-1-331_agent") == ClientVersion{2, 1, 331});
  CHECK(parse_agent("claude-code_2-1-331") == ClientVersion{2, 1, 331});
  for (const auto* text : {"", "claude-code", "claude-code_", "claude-code_2-1_harness", "claude-code_x", "other_2-1-331",
                           "claude-code_2-1-3-4_x", "Claude-code_2-1-331_x"}) {
    INFO(text);
    CHECK_FALSE(parse_agent(text));
  }
}

TEST_CASE("docs/reference/hooks.md shows the table of what clients do, each row once and in its order") {
  std::ifstream document(std::filesystem::path(INBOX_POLLER_SOURCE) / "docs/reference/hooks.md");
  REQUIRE(document);
  std::vector<std::string> shown;
  std::string line;
  while (std::getline(document, line) && line != "<!-- abilities -->") {}
  for (int heading = 0; std::getline(document, line) && line.starts_with("|"); ++heading) {
    const auto second = line.find(" | ", line.find(" | ") + 1);
    if (heading >= 2 && second != std::string::npos) shown.push_back(line.substr(0, second));
  }
  std::vector<std::string> known;
  for (const AbilitySince& one : abilities()) known.push_back("| " + std::string(one.told) + " | " + to_string(one.since));
  CHECK(shown == known);
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
