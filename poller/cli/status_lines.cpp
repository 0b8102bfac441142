// Texts of `status` for many teams: a line each, and one line for all.
#include <algorithm>
#include <boost/algorithm/string/join.hpp>

#include "poller/cli/command.hpp"
#include "poller/cli/nodes_text.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/status_text.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr const char* in_view[] = {"idle", "busy", "waiting", "failed", "unresponsive"};
constexpr long long late_for_ms = 60'000;  // how long a late poll is reported
constexpr std::size_t named_teams = 3;  // with trouble, in the line for a shell prompt

bool is_one_of(const std::string& state, std::initializer_list<const char*> states) {
  return std::find(states.begin(), states.end(), state) != states.end();
}

std::string counted(long long count, std::string_view one, std::string_view many) {
  return std::to_string(count) + ' ' + std::string(count == 1 ? one : many);
}

/// Explains why queued messages cannot be delivered to the lead.
std::string no_way(const operations::Team& team) {
  if (team.lead.state == "offline") return "the lead is offline";
  const auto& methods = team.delivery.methods;
  const bool chosen = std::any_of(methods.begin(), methods.end(), [](const auto& method) { return method.chosen; });
  if (methods.empty() || chosen) return {};
  return team.lead.not_woken.empty() ? "no way to the lead" : "the lead is not woken";
}

}  // namespace

bool has_bad_roster(const operations::Team& team) {
  return is_one_of(team.roster.state.bytes, {"empty", "unreadable"});
}

bool has_bad_inbox(const operations::Team& team) {
  return is_one_of(team.inbox.state.bytes, {"torn", "not_regular", "too_large", "locked", "fault"});
}

std::string late_polls_text(const operations::Team& team) {
  const auto& polls = team.polls;
  const long long late = polls.late;
  if (late == 0) return {};
  return std::to_string(late) + (late == 1 ? " poll" : " polls") +
         " since the daemon's start began more than four poll_intervals late, the latest after " +
         span_text(polls.latest_ms) + "; the last one " + ago(polls.late_ms);
}

namespace {

std::vector<std::string> trouble_of(const operations::Team& team, long long chat) {
  std::vector<std::string> trouble;
  if (team.role == "paused") trouble.emplace_back("paused");
  if (team.cluster) {
    const auto& cluster = *team.cluster;
    if (!cluster.trouble.empty()) trouble.emplace_back("Redis between nodes");
    if (!is_led(cluster)) trouble.emplace_back("no node leads");
    if (!cluster.full.empty()) trouble.emplace_back("mail for other nodes is full");
  }
  if (team.ledger_fault) trouble.emplace_back("ledger fails");
  if (const long long late = team.polls.late_ms; late > now_ms() - late_for_ms) trouble.emplace_back("polled late");
  if (has_bad_roster(team)) trouble.push_back("roster " + team.roster.state.bytes);
  if (has_bad_inbox(team)) trouble.push_back("inbox " + team.inbox.state.bytes);
  if (const std::string why = no_way(team); chat > 0 && !why.empty()) trouble.push_back(why);
  if (const auto unreachable = team.unreachable.size(); unreachable > 0)
    trouble.push_back(std::to_string(unreachable) + " cannot be answered");
  if (!team.orphaned_inboxes.empty()) trouble.emplace_back("orphaned inbox");
  if (!team.not_applied.empty()) trouble.emplace_back("mode not applied");
  if (const long long refused = team.quarantined; refused > 0) trouble.push_back(std::to_string(refused) + " refused");
  return trouble;
}

/// Returns text such as "3 idle, 1 busy".
std::string workers_text(const Console& console, const TeamLine& line, bool is_long) {
  std::string text;
  const auto add = [&](const char* what, bool loud) {
    if (line.doing(what) == 0) return;
    const std::string part = std::to_string(line.doing(what)) + ' ' + what;
    text += (text.empty() ? "" : ", ") + (loud ? console.loud(part) : part);
  };
  for (const char* what : in_view) add(what, is_one_of(what, {"failed", "unresponsive"}));
  if (is_long) add("gone", false);
  return or_dash(text);
}

/// Sums up what waits in all teams, such as "2 requests 3m, 5 chat 40s, 1 failed, 1 unresponsive".
std::string waiting_text(const std::vector<TeamLine>& lines) {
  long long requests = 0, chat = 0, failed = 0, unresponsive = 0, oldest_request = 0, oldest_chat = 0;
  const auto older = [](long long& oldest, long long one) {
    if (one != 0 && (oldest == 0 || one < oldest)) oldest = one;
  };
  for (const TeamLine& line : lines) {
    requests += line.requests;
    chat += line.chat;
    failed += line.doing("failed");
    unresponsive += line.doing("unresponsive");
    older(oldest_request, line.oldest_request_ms);
    older(oldest_chat, line.oldest_chat_ms);
  }
  const auto age = [](long long ms) { return ms == 0 ? "" : ' ' + span_text(now_ms() - ms); };
  std::vector<std::string> parts;
  if (requests > 0) parts.push_back(counted(requests, "request", "requests") + age(oldest_request));
  if (chat > 0) parts.push_back(std::to_string(chat) + " chat" + age(oldest_chat));
  if (failed > 0) parts.push_back(std::to_string(failed) + " failed");
  if (unresponsive > 0) parts.push_back(std::to_string(unresponsive) + " unresponsive");
  return boost::join(parts, ", ");
}

}  // namespace

std::string aged(long long count, long long oldest_ms, long long now) {
  if (count == 0) return "-";
  return std::to_string(count) + (oldest_ms == 0 ? "" : " (" + span_text(now - oldest_ms) + ')');
}

long long TeamLine::doing(std::string_view what) const {
  const auto found = workers.find(what);
  return found == workers.end() ? 0 : found->second;
}

TeamLine team_line(const operations::Team& team) {
  const auto& requests = team.requests;
  const auto& chat = team.chat;
  const std::string role = printable(team.role);
  TeamLine line{printable(team.team),
                role == "leader" ? "" : role,
                requests.pending,
                requests.oldest_ms,
                chat.queued,
                chat.oldest_queued_ms,
                {},
                trouble_of(team, chat.queued)};
  for (const auto& member : team.members) ++line.workers[member.doing.bytes];
  return line;
}

std::string not_ready(const operations::Status& status) {
  for (const auto& team : status.teams) {
    if (team.ledger_fault) return printable(team.team) + ": the last commit failed";
    if (team.inbox.state == "not polled yet") return printable(team.team) + ": not polled yet";
  }
  return {};
}

std::string teams_text(const Console& console, const std::vector<TeamLine>& lines, bool is_long) {
  std::vector<Row> rows{{"TEAM", "ROLE", "OPEN", "CHAT", "WORKERS", "TROUBLE"}};
  long long troubled = 0;
  bool all_lead = true;
  for (const TeamLine& line : lines) {
    const std::string requests = aged(line.requests, line.oldest_request_ms, now_ms());
    const std::string trouble = boost::join(line.trouble, ", ");
    troubled += line.trouble.empty() ? 0 : 1;
    all_lead = all_lead && line.role.empty();
    rows.push_back({line.team, line.role.empty() ? "leader" : line.role,
                    line.requests > 0 ? console.loud(requests) : requests, aged(line.chat, line.oldest_chat_ms, now_ms()),
                    workers_text(console, line, is_long), trouble.empty() ? "-" : console.loud(trouble)});
  }
  if (all_lead && !is_long)
    for (Row& row : rows) row.erase(row.begin() + 1);
  const std::string waits = waiting_text(lines);
  std::string sum = counted(static_cast<long long>(lines.size()), "team", "teams") + ": " +
                    (waits.empty() ? "nothing waits" : waits);
  if (troubled > 0) sum += ", trouble in " + std::to_string(troubled);
  return console.table(rows, "") + console.fit(sum + "; more of one: inbox-poller status --team NAME\n");
}

Short short_of(const std::vector<TeamLine>& lines) {
  std::vector<std::string> parts;
  if (std::string waits = waiting_text(lines); !waits.empty()) parts.push_back(std::move(waits));
  std::size_t troubled = 0;
  for (const TeamLine& line : lines)
    if (!line.trouble.empty() && ++troubled <= named_teams)
      parts.push_back(line.team + ": " + line.trouble.front());
  if (troubled > named_teams) parts.push_back("trouble in " + std::to_string(troubled - named_teams) + " more");
  return {!parts.empty(), boost::join(parts, ", ")};
}

}  // namespace inbox_poller::poller::cli
