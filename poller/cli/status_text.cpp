// `status` of one team, in detail.
#include <algorithm>

#include "handlers/ladder.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/hosts_text.hpp"
#include "poller/cli/status_text.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

std::string count(const json::object& object, std::string_view name) { return std::to_string(number_of(object, name)); }

std::string inbox_text(const Console& console, const json::object& inbox) {
  const std::string state = text_of(inbox, "state");
  const std::string detail = text_of(inbox, "detail");
  const std::string compacted = number_of(inbox, "compacted") == 0
                                    ? ""
                                    : "; " + count(inbox, "compacted") + " read messages left it, the last " +
                                          ago(number_of(inbox, "compacted_ms")) + ": inbox-poller history";
  return (state == "ok" ? state : console.loud(state)) + "  " + text_of(inbox, "path") +
         (detail.empty() ? "" : "  (" + detail + ")") + compacted;
}

/// ", 3 expired"; empty for none.
std::string some(const json::object& object, std::string_view name, std::string_view words) {
  return number_of(object, name) == 0 ? "" : ", " + count(object, name) + ' ' + std::string(words);
}

std::string chat_text(const json::object& chat) {
  const long long oldest = number_of(chat, "oldest_queued_ms");
  const std::string age = oldest == 0 ? "" : " (the oldest " + ago(oldest) + ')';
  const std::string text =
      some(chat, "queued", "queued" + age) + some(chat, "offered", "handed out") +
      some(chat, "delivered", "delivered") + some(chat, "assumed", "of them without an acknowledgement") +
      some(chat, "expired", "given up") + some(chat, "digest", "to be summed up");
  return text.empty() ? "none yet" : text.substr(2);
}

/// "2 open, 1 claimed, 7 done, 1 dead: inbox-poller tasks --dead"
std::string tasks_text(const Console& console, const json::object& tasks) {
  if (const std::string problem = text_of(tasks, "problem"); !problem.empty()) return console.loud(problem);
  const std::string text = some(tasks, "open", "open") + some(tasks, "claimed", "claimed") + some(tasks, "done", "done");
  const std::string dead = number_of(tasks, "dead") == 0 ? "" : console.loud(count(tasks, "dead") + " dead");
  if (text.empty() && dead.empty()) return "none yet";
  return (text.empty() ? "" : text.substr(2) + (dead.empty() ? "" : ", ")) + dead;
}

/// A way that we go ourselves: when it is not available, something failed.
bool is_pushed(const json::object& way) {
  const auto known = schema::parse<config::Way>(raw_text_of(way, "rung"));
  return known && handlers::is_pushed(*known);
}

/// The way on which messages go to the lead, and below it one line for each better one that failed. Better ones at
/// which nobody is are named; with `is_long`, or when none is left, each with the reason.
std::vector<Row> delivery_rows(const Console& console, const json::object& delivery, bool is_long) {
  const auto ways = objects_of(delivery, "via");
  const auto chosen = std::find_if(ways.begin(), ways.end(), [](const auto* way) { return flag_of(*way, "chosen"); });
  const std::string last = text_of(delivery, "last_sink");
  std::vector<Row> rows{{"delivery", chosen == ways.end() ? console.loud("nothing is available")
                                                          : text_of(**chosen, "rung")}};
  std::string passed;
  for (auto way = ways.begin(); way != chosen; ++way) {
    const std::string name = text_of(**way, "rung");
    if (is_long || chosen == ways.end() || is_pushed(**way))
      rows.push_back({"", "not " + name + ": " + text_of(**way, "reason")});
    else
      passed += (passed.empty() ? "" : ", ") + name;
  }
  if (!passed.empty()) rows.front()[1] += ", as nobody is at " + passed + " (--long says more)";
  if (!last.empty()) rows.front()[1] += "; the last messages went through " + last;
  return rows;
}

std::string locks_text(const json::object& locks) {
  return count(locks, "acquired") + " taken (held " + count(locks, "median_us") + " us at the median, " +
         count(locks, "p99_us") + " us at 99 %), " + count(locks, "refused") + " refused, " +
         count(locks, "stale_taken") + " stale ones taken over";
}

/// Without the columns that have nothing in any row.
std::vector<Row> without_empty_columns(std::vector<Row> rows) {
  for (std::size_t column = rows.front().size(); column-- > 0;) {
    const bool is_empty = std::all_of(rows.begin() + 1, rows.end(), [&](const Row& row) {
      return row[column].empty() || row[column] == "-" || row[column] == "0";
    });
    if (!is_empty) continue;
    for (Row& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
  return rows;
}

std::string members_text(const Console& console, const std::vector<const json::object*>& members, bool is_long) {
  std::vector<Row> rows{{"NAME", "DOING", "TASK", "ASKS", "ANSWERS", "MODE", "LAST SEEN", "DETAIL"}};
  std::size_t gone = 0;
  for (const json::object* member : members) {
    if (!is_long && raw_text_of(*member, "doing") == "gone") {
      ++gone;
      continue;
    }
    rows.push_back({text_of(*member, "member"), or_dash(text_of(*member, "doing")), or_dash(text_of(*member, "task")),
                    count(*member, "pending"), or_dash(text_of(*member, "answers")), or_dash(text_of(*member, "mode")),
                    ago(number_of(*member, "last_seen_ms")), text_of(*member, "detail")});
  }
  const std::string left = gone == 0 ? "" : "  " + std::to_string(gone) + " gone (--long shows them)\n";
  if (rows.size() == 1) return "  no workers" + std::string(members.empty() ? " yet" : "") + '\n' + left;
  return '\n' + console.table(is_long ? rows : without_empty_columns(std::move(rows)), "  ") + left;
}

/// What somebody else takes from the inbox that we only look at.
std::string seen_text(const json::object& seen) {
  std::string text = count(seen, "consumed") + " taken by the lead";
  if (const long long longest = number_of(seen, "longest_ms"); longest != 0)
    text += " (the slowest after " + span_text(longest) + ')';
  text += ", " + count(seen, "waiting") + " waiting";
  if (const long long oldest = number_of(seen, "oldest_waiting_ms"); oldest != 0)
    text += " (the oldest for " + span_text(now_ms() - oldest) + ')';
  return text;
}

/// Lines for what is not as it usually is.
void add_oddities(const Console& console, const json::object& team, std::vector<Row>& rows) {
  if (const std::string fault = text_of(team, "ledger_fault"); !fault.empty())
    rows.push_back(
        {"ledger", console.loud("its last commit failed, nothing is accepted until one works") + ": " + fault});
  if (const json::object& roster = object_of(team, "roster"); !text_of(roster, "detail").empty())
    rows.push_back({"roster", console.loud(text_of(roster, "state")) + ": " + text_of(roster, "detail")});
  if (const std::string late = late_polls_text(team); !late.empty()) rows.push_back({"polls", console.loud(late)});
  if (const json::object& seen = object_of(team, "seen"); !seen.empty()) rows.push_back({"seen", seen_text(seen)});
  for (const json::object* shutdown : objects_of(team, "shutdowns"))
    rows.push_back({"shutdown", text_of(*shutdown, "member") + ' ' + shutdown_sentence(*shutdown)});
  for (const json::object* order : objects_of(team, "not_adopted"))
    rows.push_back({"mode", console.loud(text_of(*order, "member") + " has not adopted " + text_of(*order, "mode")) +
                                ", sent " + ago(number_of(*order, "sent_ms")) +
                                "; newest clients ignore it: set it in the worker's session"});
  for (const json::object* member : objects_of(team, "members"))
    if (const std::string answers = raw_text_of(*member, "answers"); !answers.empty() && answers != "count")
      rows.push_back({"answers", console.loud(text_of(*member, "member") + " takes answers from its own lead only") +
                                     ": " + text_of(*member, "answers_reason")});
  for (const json::object* member : objects_of(team, "members"))
    if (const long long since = number_of(*member, "unread_ms"); since != 0)
      rows.push_back({"unread", console.loud("nobody reads the inbox of " + text_of(*member, "member")) + ": what we wrote " +
                                    ago(since) + " stands there"});
  for (const json::object* member : objects_of(team, "unserved"))
    rows.push_back({"nobody", console.loud(text_of(*member, "member") + " is in the roster and cannot be answered") +
                                  ": " + text_of(*member, "reason") + "; start it anew under another name"});
  for (const json::object* phantom : objects_of(team, "phantoms"))
    rows.push_back({"phantom", console.loud(text_of(*phantom, "inbox")) + " is an inbox of nobody with " +
                                   count(*phantom, "entries") + " entries, " + count(*phantom, "unread") +
                                   " unread; if it means the lead, name it in team.aliases"});
}

std::string asks_text(const Console& console, const json::object& asks) {
  const long long pending = number_of(asks, "pending");
  if (pending == 0) return "none is open";
  const std::string subject = cut(text_of(asks, "oldest_subject"), 60);
  return console.loud(std::to_string(pending) + " pending") + " (the oldest " + ago(number_of(asks, "oldest_ms")) +
         (subject.empty() ? "" : ", " + subject) + "): inbox-poller pending";
}

}  // namespace

std::string team_text(const Console& console, const json::object& team, bool is_long) {
  const std::string role = text_of(team, "role");
  const std::string role_reason = text_of(team, "role_reason");
  std::vector<Row> rows;
  if (is_long || role != "leader" || !role_reason.empty())
    rows.push_back({"role", (role == "leader" ? role : console.loud(or_dash(role))) +
                                (role_reason.empty() ? "" : ": " + role_reason)});
  if (const json::object& hosts = object_of(team, "hosts"); !hosts.empty())
    for (Row& row : host_rows(console, hosts)) rows.push_back(std::move(row));
  const bool is_elsewhere = !is_long && (role == "satellite" || role == "standby");  // the lead, its mail and what is heard of workers
  if (!is_elsewhere) {
    rows.push_back({"lead", lead_sentence(object_of(team, "lead"))});
    if (const json::object& delivery = object_of(team, "delivery"); !delivery.empty())
      for (Row& row : delivery_rows(console, delivery, is_long)) rows.push_back(std::move(row));
    rows.push_back({"inbox", inbox_text(console, object_of(team, "inbox"))});
    rows.push_back({"asks", asks_text(console, object_of(team, "asks"))});
    rows.push_back({"chat", chat_text(object_of(team, "chat"))});
  }
  if (const json::object& tasks = object_of(team, "tasks"); !tasks.empty())
    rows.push_back({"tasks", tasks_text(console, tasks)});
  if (is_long || number_of(team, "effects_owed") != 0)
    rows.push_back({"replies", count(team, "effects_owed") + " still to be written"});
  if (number_of(team, "quarantined") != 0)
    rows.push_back({"refused", console.loud(count(team, "quarantined")) + ": inbox-poller quarantine"});
  else if (is_long)
    rows.push_back({"refused", "0"});
  const json::object& locks = object_of(team, "locks");
  if (is_long || number_of(locks, "refused") != 0 || number_of(locks, "stale_taken") != 0)
    rows.push_back({"locks", locks_text(locks)});
  add_oddities(console, team, rows);
  for (const json::object* rule : objects_of(team, "rules"))
    rows.push_back({"rule", text_of(*rule, "action") + ' ' + text_of(*rule, "kind") + ' ' + text_of(*rule, "rule") +
                                ", by " + text_of(*rule, "by") + ' ' + ago(number_of(*rule, "at_ms"))});
  rows.push_back({"settings", text_of(team, "source")});
  return console.bold("team " + text_of(team, "team")) + '\n' + console.table(rows, "  ") +
         (is_elsewhere ? "" : members_text(console, objects_of(team, "members"), is_long));
}

}  // namespace inbox_poller::poller::cli
