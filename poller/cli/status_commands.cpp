// `status` and `lead`: how the teams are.
#include <boost/json.hpp>
#include <memory>
#include <optional>

#include "config/units.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

std::string count(const json::object& object, std::string_view name) { return std::to_string(number_of(object, name)); }

/// "team-lead is busy for 3m, counts as idle in 12m unless it says so again"
std::string lead_sentence(const json::object& lead) {
  std::string text = text_of(lead, "name") + " is " + text_of(lead, "state");
  if (const long long since = number_of(lead, "since_ms"); since != 0) text += " for " + span_text(now_ms() - since);
  if (const long long until = number_of(lead, "until_ms"); until != 0)
    text += ", the report runs out in " + span_text(until - now_ms());
  return text;
}

std::string inbox_text(const Console& console, const json::object& inbox) {
  const std::string state = text_of(inbox, "state");
  const std::string detail = text_of(inbox, "detail");
  return (state == "ok" ? state : console.loud(state)) + "  " + text_of(inbox, "path") +
         (detail.empty() ? "" : "  (" + detail + ")");
}

std::string chat_text(const json::object& chat) {
  const long long oldest = number_of(chat, "oldest_queued_ms");
  return count(chat, "queued") + " queued" + (oldest == 0 ? "" : " (the oldest " + ago(oldest) + ")") + ", " +
         count(chat, "offered") + " handed out, " + count(chat, "delivered") + " delivered";
}

std::string locks_text(const json::object& locks) {
  return count(locks, "acquired") + " taken (held " + count(locks, "median_us") + " us at the median, " +
         count(locks, "p99_us") + " us at 99 %), " + count(locks, "refused") + " refused, " +
         count(locks, "stale_taken") + " stale ones taken over";
}

std::string members_text(const std::vector<const json::object*>& members) {
  if (members.empty()) return "  no workers yet\n";
  std::vector<Row> rows{{"WORKER", "STATE", "LAST SEEN", "ASKS", "DETAIL"}};
  for (const json::object* member : members) {
    const std::string state = flag_of(*member, "present") ? text_of(*member, "state") : "left";
    rows.push_back({text_of(*member, "name"), state.empty() ? "-" : state, ago(number_of(*member, "last_seen_ms")),
                    count(*member, "pending"), text_of(*member, "detail")});
  }
  return '\n' + table(rows, "  ");
}

std::string team_text(const Console& console, const json::object& team) {
  const json::object& asks = object_of(team, "asks");
  const long long pending = number_of(asks, "pending");
  std::string asks_text = std::to_string(pending) + " pending";
  if (pending > 0)
    asks_text =
        console.loud(asks_text) + " (the oldest " + ago(number_of(asks, "oldest_ms")) + "): inbox-poller pending";
  const long long quarantined = number_of(team, "quarantined");
  std::vector<Row> rows{
      {"lead", lead_sentence(object_of(team, "lead"))},
      {"inbox", inbox_text(console, object_of(team, "inbox"))},
      {"asks", asks_text},
      {"chat", chat_text(object_of(team, "chat"))},
      {"replies", count(team, "effects_owed") + " still to be written"},
      {"refused", quarantined == 0 ? "0" : console.loud(std::to_string(quarantined)) + ": inbox-poller quarantine"},
      {"locks", locks_text(object_of(team, "locks"))}};
  for (const json::object* rule : objects_of(team, "rules"))
    rows.push_back({"rule", text_of(*rule, "action") + ' ' + text_of(*rule, "kind") + ' ' + text_of(*rule, "rule") +
                                ", by " + text_of(*rule, "by") + ' ' + ago(number_of(*rule, "at_ms"))});
  rows.push_back({"settings", text_of(team, "source")});
  return console.bold("team " + text_of(team, "team")) + '\n' + table(rows, "  ") +
         members_text(objects_of(team, "members"));
}

ExitCode status(Context& context) {
  const Result<json::object> answer = context.ask("status");
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(*answer);
  std::string text = "inbox-poller " + text_of(*answer, "version") + ", process " + count(*answer, "pid") +
                     ", running for " + span_text(now_ms() - number_of(*answer, "started_ms")) + "\nledger " +
                     text_of(*answer, "ledger") + '\n';
  const auto teams = objects_of(*answer, "teams");
  if (teams.empty()) text += "\nno team is there yet\n";
  for (const json::object* team : teams) text += '\n' + team_text(context.console, *team);
  return context.print(text);
}

struct LeadOptions {
  std::string state;
  std::string limit;
};

ExitCode lead(Context& context, const LeadOptions& options) {
  json::object request;
  if (!options.state.empty()) request["state"] = options.state;
  if (!options.limit.empty()) {
    const Result<config::Duration> limit = config::parse_duration(options.limit);
    if (!limit || options.state != "busy") {
      context.console.complain("--for takes a duration such as 10min, and only together with busy");
      return ExitCode::usage;
    }
    request["for_ms"] = limit->count();
  }
  const Result<json::object> answer = context.ask("lead", std::move(request));
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(*answer);
  return context.print("team " + text_of(*answer, "team") + ": " + lead_sentence(*answer) + '\n');
}

}  // namespace

void add_status(CLI::App& app, Context& context) {
  CLI::App* command =
      add_command(app, "status", "Show the teams, their workers, and what is waiting",
                  "For each team: whether the lead is busy, what each worker last said about itself, asks that\n"
                  "wait for a person, messages that wait for the lead, replies still to be written, entries that\n"
                  "were refused, and how the inbox locks behave.\n\n"
                  "Examples:\n"
                  "  inbox-poller status\n"
                  "  inbox-poller status --json | jq '.teams[].asks.pending'");
  command->callback([&context] { context.exit_code = status(context); });
}

void add_lead(CLI::App& app, Context& context) {
  auto options = std::make_shared<LeadOptions>();
  CLI::App* command =
      add_command(app, "lead", "Say whether the lead is busy, idle or gone; without a state, show it",
                  "Messages for the lead are kept while it is busy and handed out when it is idle. A report of\n"
                  "\"busy\" runs out after a while, so that a lead that dies does not hold the messages for ever.\n"
                  "Call this from the lead's own hooks.\n\n"
                  "Examples:\n"
                  "  inbox-poller lead\n"
                  "  inbox-poller lead busy --for 10min\n"
                  "  inbox-poller lead idle");
  command->add_option("STATE", options->state, "busy, idle or gone")
      ->check(CLI::IsMember({"busy", "idle", "gone"}).description(""));
  command->add_option("--for", options->limit, "How long \"busy\" holds at most, such as 10min")->type_name("DURATION");
  command->callback([options, &context] { context.exit_code = lead(context, *options); });
}

}  // namespace inbox_poller::poller::cli
