// Texts of `status`: one team in detail, many teams with a line each, and all teams in one line for a shell prompt.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/console.hpp"
#include "schema/operations/team.hpp"

namespace inbox_poller::poller::cli {

/// Formats a count with the age of the oldest, as "2 (3m 5s)"; "-" for 0.
std::string aged(long long count, long long oldest_ms, long long now);

/// Returns a sentence about a path without the path before it, as "is not one JSON array".
std::string without_path(std::string sentence, const std::string& path);

/// A summary of a team, from an element of `teams` in the answer to `status`. All strings are printable.
struct TeamLine {
  std::string team;
  std::string role;  // empty: leader, the usual role
  long long requests = 0;
  long long oldest_request_ms = 0;  // Unix epoch, when it arrived; 0: none is open
  long long chat = 0;           // queued for the lead
  long long oldest_chat_ms = 0;
  std::map<std::string, long long, std::less<>> workers;  // count by state: idle, busy, waiting, failed, unresponsive, gone
  std::vector<std::string> trouble;                       // problems, a few words each

  [[nodiscard]] long long doing(std::string_view what) const;
};
TeamLine team_line(const operations::Team& team);

/// Explains why the daemon does not work, by its answer to `status`; empty when it works.
std::string not_ready(const operations::Status& status);

/// True if the daemon cannot read the roster, or the lead's inbox; a missing file is no trouble.
bool has_bad_roster(const operations::Team& team);
bool has_bad_inbox(const operations::Team& team);

/// Counts a team's late polls and gives the latest delay; empty when there were none.
std::string late_polls_text(const operations::Team& team);

/// Formats all data of one team; empty or usual values only with `is_long`.
std::string team_text(const Console&, const operations::Team& team, bool is_long);

/// Formats a table with a row for each team, and a line for all of them.
std::string teams_text(const Console&, const std::vector<TeamLine>&, bool is_long);

/// A summary of all teams: what waits, and what is wrong.
struct Short {
  bool waits = false;  // a person must act, or messages wait for the lead
  std::string line;    // "2 requests 3m, 5 chat, 1 unresponsive, beta: paused"; empty when nothing waits
};
Short short_of(const std::vector<TeamLine>&);

}  // namespace inbox_poller::poller::cli
