// Text of `status` for one team, in detail.
#include <algorithm>

#include "handlers/delivery_method.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/nodes_text.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/status_text.hpp"

namespace inbox_poller::poller::cli {

namespace {

std::string inbox_text(const Console& console, const operations::Inbox& inbox) {
  const std::string state = printable(inbox.state);
  const std::string detail = printable(without_path(inbox.detail.bytes, inbox.path.bytes));
  const std::string compacted = inbox.compacted == 0
                                    ? ""
                                    : "; " + std::to_string(inbox.compacted) + " read messages left it, the last " +
                                          ago(inbox.compacted_ms) + ": inbox-poller history";
  return (state == "ok" ? state : console.loud(state)) + "  " + printable(inbox.path) +
         (detail.empty() ? "" : "  (" + detail + ")") + compacted;
}

/// Returns text such as ", 3 expired"; empty for 0.
std::string some(std::optional<long long> count, std::string_view words) {
  return count.value_or(0) == 0 ? "" : ", " + std::to_string(*count) + ' ' + std::string(words);
}

std::string chat_text(const operations::ChatCounts& chat) {
  const long long oldest = chat.oldest_queued_ms;
  const std::string age = oldest == 0 ? "" : " (the oldest " + ago(oldest) + ')';
  const std::string text = some(chat.queued, "queued" + age) + some(chat.offered, "handed out") +
                           some(chat.delivered, "delivered") + some(chat.assumed, "of them without an acknowledgment") +
                           some(chat.expired, "given up") + some(chat.digest, "to be summed up");
  return text.empty() ? "none yet" : text.substr(2);
}

/// Returns text such as "2 open, 1 claimed, 7 done, 1 dead".
std::string tasks_text(const Console& console, const operations::TaskCounts& tasks) {
  if (tasks.problem) return console.loud(printable(tasks.problem));
  const std::string text = some(tasks.open, "open") + some(tasks.claimed, "claimed") + some(tasks.done, "done");
  const long long dead_ones = tasks.dead.value_or(0);
  const std::string dead = dead_ones == 0 ? "" : console.loud(std::to_string(dead_ones) + " dead");
  if (text.empty() && dead.empty()) return "none yet";
  return (text.empty() ? "" : text.substr(2) + (dead.empty() ? "" : ", ")) + dead;
}

/// True for a delivery method that the daemon starts itself; if unavailable, something failed.
bool is_pushed(const operations::DeliveryMethod& method) {
  const auto known = schema::parse<config::DeliveryMethod>(method.method.bytes);
  return known && handlers::is_pushed(*known);
}

/// Returns the delivery method in use, and a row for each better method that failed. Better methods without a receiver
/// are named in the first row. With `is_long` each has a row with its reason.
std::vector<Row> delivery_rows(const Console& console, const operations::Delivery& delivery, bool is_long) {
  const auto& methods = delivery.methods;
  const auto chosen = std::find_if(methods.begin(), methods.end(), [](const auto& method) { return method.chosen; });
  const std::string last = printable(delivery.last_method);
  std::vector<Row> rows{
      {"delivery", chosen == methods.end() ? console.loud("nothing is available") : printable(chosen->method)}};
  std::string passed;
  for (auto method = methods.begin(); method != chosen; ++method) {
    const std::string name = printable(method->method);
    if (is_long || (chosen != methods.end() && is_pushed(*method)))
      rows.push_back({"", "not " + name + ": " + printable(method->reason)});
    else
      passed += (passed.empty() ? "" : ", ") + name;
  }
  if (!passed.empty())
    rows.front()[1] += chosen == methods.end() ? " (--long says why)" : ", as no receiver is at " + passed + " (--long says more)";
  if (!last.empty()) rows.front()[1] += "; the last messages went through " + last;
  return rows;
}

std::string locks_text(const operations::Locks& locks) {
  return std::to_string(locks.acquired) + " taken (held " + std::to_string(locks.median_us) + " us at the median, " +
         std::to_string(locks.p99_us) + " us at 99 %), " + std::to_string(locks.refused) + " refused, " +
         std::to_string(locks.stale_taken) + " stale ones taken over";
}

/// Removes columns without a value in any row.
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

std::string members_text(const Console& console, const std::vector<operations::Member>& members, bool is_long) {
  std::vector<Row> rows{{"NAME", "DOING", "TASK", "OPEN", "ANSWERS", "MODE", "LAST SEEN", "DETAIL"}};
  std::size_t gone = 0;
  for (const auto& member : members) {
    if (!is_long && member.doing == "gone") {
      ++gone;
      continue;
    }
    rows.push_back({printable(member.member), or_dash(printable(member.doing)), or_dash(printable(member.task)),
                    std::to_string(member.pending), or_dash(printable(member.answers)), or_dash(printable(member.mode)),
                    ago(member.last_seen_ms), printable(member.detail)});
  }
  const std::string left = gone == 0 ? "" : "  " + std::to_string(gone) + " gone (--long shows them)\n";
  if (rows.size() == 1) return "  no workers" + std::string(members.empty() ? " yet" : "") + '\n' + left;
  return '\n' + console.table(is_long ? rows : without_empty_columns(std::move(rows)), "  ") + left;
}

/// Describes an observed inbox whose messages the lead consumes itself.
std::string seen_text(const operations::Seen& seen) {
  std::string text = std::to_string(seen.consumed) + " taken by the lead";
  if (const long long longest = seen.longest_ms; longest != 0)
    text += " (the slowest after " + span_text(longest) + ')';
  text += ", " + std::to_string(seen.waiting) + " waiting";
  if (const long long oldest = seen.oldest_waiting_ms; oldest != 0)
    text += " (the oldest for " + span_text(now_ms() - oldest) + ')';
  return text;
}

/// Adds rows for unusual states.
void add_oddities(const Console& console, const operations::Team& team, std::vector<Row>& rows) {
  if (const std::string fault = printable(team.ledger_fault); !fault.empty())
    rows.push_back(
        {"ledger", console.loud("its last commit failed, nothing is accepted until one works") + ": " + fault});
  if (const auto& roster = team.roster; !roster.detail.empty())
    rows.push_back({"roster", console.loud(printable(roster.state)) + ": " + printable(roster.detail)});
  if (const std::string late = late_polls_text(team); !late.empty()) rows.push_back({"polls", console.loud(late)});
  if (team.seen) rows.push_back({"seen", seen_text(*team.seen)});
  for (const auto& shutdown : team.shutdowns)
    rows.push_back({"shutdown", printable(shutdown.member) + ' ' + shutdown_sentence(shutdown)});
  for (const auto& order : team.not_applied)
    rows.push_back({"mode", console.loud(printable(order.member) + " has not applied " + printable(order.mode)) +
                                ", sent " + ago(order.sent_ms) +
                                "; newest clients ignore it: set it in the worker's session"});
  for (const auto& member : team.members)
    if (member.answers && !member.answers->empty() && *member.answers != "count")
      rows.push_back({"answers", console.loud(printable(member.member) + " takes answers from its own lead only") +
                                     ": " + printable(member.answers_reason)});
  for (const auto& member : team.members)
    if (const long long since = member.unread_ms; since != 0)
      rows.push_back({"unread", console.loud("no session reads the inbox of " + printable(member.member)) +
                                    ": what we wrote " + ago(since) + " stands there"});
  for (const auto& member : team.unreachable)
    rows.push_back({"nobody", console.loud(printable(member.member) + " is in the roster and cannot be answered") +
                                  ": " + printable(member.reason) + "; start it again under another name"});
  for (const auto& orphan : team.orphaned_inboxes)
    rows.push_back({"orphaned", console.loud(printable(orphan.inbox)) + " is an orphaned inbox with " +
                                   std::to_string(orphan.entries) + " entries, " + std::to_string(orphan.unread) +
                                   " unread; if it means the lead, name it in team.aliases"});
}

std::string requests_text(const Console& console, const operations::RequestCounts& requests) {
  const long long pending = requests.pending;
  if (pending == 0) return "none is open";
  const std::string subject = cut(printable(requests.oldest_subject), 60);
  return console.loud(std::to_string(pending) + " pending") + " (the oldest " + ago(requests.oldest_ms) +
         (subject.empty() ? "" : ", " + subject) + "): inbox-poller pending";
}

}  // namespace

std::string without_path(std::string sentence, const std::string& path) {
  if (!path.empty() && sentence.starts_with(path)) sentence.erase(0, sentence.find_first_not_of(": ", path.size()));
  return sentence;
}

std::string team_text(const Console& console, const operations::Team& team, bool is_long) {
  const std::string role = printable(team.role);
  const std::string role_reason = printable(team.role_reason);
  std::vector<Row> rows;
  if (is_long || role != "leader" || !role_reason.empty())
    rows.push_back({"role", (role == "leader" ? role : console.loud(or_dash(role))) +
                                (role_reason.empty() ? "" : ": " + role_reason)});
  if (team.cluster)
    for (Row& row : node_rows(console, *team.cluster)) rows.push_back(std::move(row));
  const bool is_elsewhere = !is_long && (role == "follower" || role == "standby");  // lead, mail, workers' state
  if (!is_elsewhere) {
    rows.push_back({"lead", lead_sentence(team.lead)});
    if (is_long || (role != "observer" && role != "interceptor"))  // there the lead reads its inbox itself
      for (Row& row : delivery_rows(console, team.delivery, is_long)) rows.push_back(std::move(row));
    rows.push_back({"inbox", inbox_text(console, team.inbox)});
    rows.push_back({"requests", requests_text(console, team.requests)});
    rows.push_back({"chat", chat_text(team.chat)});
  }
  if (team.tasks) rows.push_back({"tasks", tasks_text(console, *team.tasks)});
  if (is_long || team.replies_owed != 0)
    rows.push_back({"replies", std::to_string(team.replies_owed) + " still to be written"});
  if (team.quarantined != 0)
    rows.push_back({"rejected", console.loud(std::to_string(team.quarantined)) + ": inbox-poller quarantine"});
  else if (is_long)
    rows.push_back({"rejected", "0"});
  const auto& locks = team.locks;
  if (is_long || locks.refused != 0 || locks.stale_taken != 0) rows.push_back({"locks", locks_text(locks)});
  add_oddities(console, team, rows);
  for (const auto& rule : team.rules)
    rows.push_back({"rule", printable(rule.action) + ' ' + printable(rule.kind) + ' ' + printable(rule.rule) + ", by " +
                                printable(rule.by) + ' ' + ago(rule.at_ms)});
  rows.push_back({"settings", printable(team.source)});
  return console.bold("team " + printable(team.team)) + '\n' + console.table(rows, "  ") +
         (is_elsewhere ? "" : members_text(console, team.members, is_long));
}

}  // namespace inbox_poller::poller::cli
