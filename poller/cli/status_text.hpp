// The words of `status`: one team in detail, many in a line each, all of them in a line for a prompt.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/console.hpp"
#include "schema/operations/team.hpp"

namespace inbox_poller::poller::cli {

/// What a person wants to know of a team among others. From an element of `teams` in the answer to `status`; its
/// strings are printable.
struct TeamLine {
  std::string team;
  std::string role;  // empty: the usual one, leader
  long long asks = 0;
  long long oldest_ask_ms = 0;  // when it came; 0: none is open
  long long chat = 0;           // queued for the lead
  long long oldest_chat_ms = 0;
  std::map<std::string, long long, std::less<>> workers;  // how many do what: idle, busy, waiting, failed, silent, gone
  std::vector<std::string> trouble;                       // what is not as it should be, a few words each

  [[nodiscard]] long long doing(std::string_view what) const;
};
TeamLine team_line(const operations::Team& team);

/// Why the daemon does not do its work, by its answer to `status`; empty when it does.
std::string not_ready(const operations::Status& status);

/// Of a team of `status`: how many polls began late, and how late; empty when none did.
std::string late_polls_text(const operations::Team& team);

/// One team with all that can be said of it; what is nothing, or as usual, only with `is_long`.
std::string team_text(const Console&, const operations::Team& team, bool is_long);

/// A table with one row a team, and a line for all of them.
std::string teams_text(const Console&, const std::vector<TeamLine>&, bool is_long);

/// All teams in one: what waits, and what is wrong.
struct Short {
  bool waits = false;  // somebody has to do something, or something waits for the lead
  std::string line;    // "2 asks 3m, 5 chat, 1 silent, beta: stopped"; empty when nothing waits
};
Short short_of(const std::vector<TeamLine>&);

}  // namespace inbox_poller::poller::cli
