// For tests of commands that work on a team's files: a root with one team, and an environment of its own.
#pragma once

#include <filesystem>

#include "tests/support/mailbox_setting.hpp"
#include "tests/unit/cli/cli_fixture.hpp"

namespace inbox_poller::poller::testing {

struct TeamOnDisk {
  TempDir dir;
  EnvironmentVariable home{"HOME", dir / "home"};
  EnvironmentVariable config_home{"XDG_CONFIG_HOME", dir / "config"};
  EnvironmentVariable state_home{"XDG_STATE_HOME", dir / "state"};
  EnvironmentVariable runtime{"XDG_RUNTIME_DIR", dir / "run"};
  EnvironmentVariable claude{"CLAUDE_CONFIG_DIR", dir / "claude"};

  explicit TeamOnDisk(const std::string& name = "demo") : name_(name) {
    std::filesystem::create_directories(folder() + "/inboxes");
    write_roster(R"({"name": "alice", "agentId": "alice@demo", "color": "blue", "tmuxPaneId": "in-process"})");
  }

  [[nodiscard]] std::string root() const { return dir / "claude/teams"; }
  [[nodiscard]] std::string folder() const { return root() + "/" + name_; }
  [[nodiscard]] std::string inbox(const std::string& member) const { return folder() + "/inboxes/" + member + ".json"; }

  /// `members` besides the lead, and further fields behind them.
  void write_roster(const std::string& members, const std::string& more = "") const {
    inbox_poller::test::spill(folder() + "/config.json",
                              R"({"name": "demo", "leadAgentId": "team-lead@demo", "leadSessionId": "s", "members": [)"
                              R"({"name": "team-lead", "agentId": "team-lead@demo", "tmuxPaneId": ""})" +
                                  (members.empty() ? "" : ", " + members) + "]" + more + "}");
  }
  void put(const std::string& member, const std::vector<std::string>& entries) const {
    inbox_poller::test::spill(inbox(member), inbox_poller::test::inbox_of(entries));
  }
  [[nodiscard]] std::string bytes(const std::string& member) const { return inbox_poller::test::slurp(inbox(member)); }

  [[nodiscard]] Outcome run(std::vector<std::string> words, const std::string& input = "") const {
    return run_cli(dir, words, input);
  }
  [[nodiscard]] boost::json::object ask(std::vector<std::string> words) const {
    words.push_back("--json");
    return boost::json::parse(run(std::move(words)).out).as_object();
  }

 private:
  std::string name_;
};

}  // namespace inbox_poller::poller::testing
