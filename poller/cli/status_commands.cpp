// `status` and `lead`: how the teams are.
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>

#include "config/units.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/loop.hpp"
#include "poller/cli/printable.hpp"

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
  return count(chat, "queued") + " queued" + (oldest == 0 ? "" : " (the oldest " + ago(oldest) + ")") + ", " +
         count(chat, "offered") + " handed out, " + count(chat, "delivered") + " delivered" +
         some(chat, "assumed", "of them without an acknowledgement") + some(chat, "expired", "given up") +
         some(chat, "digest", "to be summed up");
}

/// The way on which messages go to the lead, and below it one line for each better one that is not available.
std::vector<Row> delivery_rows(const Console& console, const json::object& delivery) {
  const std::string last = text_of(delivery, "last_sink");
  std::vector<Row> rows{{"delivery", console.loud("nothing is available")}};
  for (const json::object* way : objects_of(delivery, "via")) {
    if (flag_of(*way, "chosen")) {
      rows.front()[1] = text_of(*way, "rung");
      break;
    }
    rows.push_back({"", "not " + text_of(*way, "rung") + ": " + text_of(*way, "reason")});
  }
  if (!last.empty()) rows.front()[1] += "; the last messages went through " + last;
  return rows;
}

std::string locks_text(const json::object& locks) {
  return count(locks, "acquired") + " taken (held " + count(locks, "median_us") + " us at the median, " +
         count(locks, "p99_us") + " us at 99 %), " + count(locks, "refused") + " refused, " +
         count(locks, "stale_taken") + " stale ones taken over";
}

std::string members_text(const Console& console, const std::vector<const json::object*>& members) {
  if (members.empty()) return "  no workers yet\n";
  std::vector<Row> rows{{"NAME", "DOING", "TASK", "ASKS", "ANSWERS", "MODE", "LAST SEEN", "DETAIL"}};
  for (const json::object* member : members) {
    rows.push_back({text_of(*member, "name"), or_dash(text_of(*member, "doing")), or_dash(text_of(*member, "task")),
                    count(*member, "pending"), or_dash(text_of(*member, "answers")), or_dash(text_of(*member, "mode")),
                    ago(number_of(*member, "last_seen_ms")), text_of(*member, "detail")});
  }
  return '\n' + console.table(rows, "  ");
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
  if (const json::object& seen = object_of(team, "seen"); !seen.empty()) rows.push_back({"seen", seen_text(seen)});
  for (const json::object* shutdown : objects_of(team, "shutdowns"))
    rows.push_back({"shutdown", text_of(*shutdown, "member") + ' ' + shutdown_sentence(*shutdown)});
  for (const json::object* order : objects_of(team, "not_adopted"))
    rows.push_back({"mode", console.loud(text_of(*order, "member") + " has not adopted " + text_of(*order, "mode")) +
                                ", sent " + ago(number_of(*order, "sent_ms")) +
                                "; newest clients ignore it: set it in the worker's session"});
  for (const json::object* member : objects_of(team, "members"))
    if (const std::string answers = raw_text_of(*member, "answers"); !answers.empty() && answers != "count")
      rows.push_back({"answers", console.loud(text_of(*member, "name") + " takes answers from its own lead only") +
                                     ": " + text_of(*member, "answers_reason")});
  for (const json::object* member : objects_of(team, "members"))
    if (const long long since = number_of(*member, "unread_ms"); since != 0)
      rows.push_back({"unread", console.loud("nobody reads the inbox of " + text_of(*member, "name")) + ": what we wrote " +
                                    ago(since) + " stands there"});
  for (const json::object* member : objects_of(team, "unserved"))
    rows.push_back({"nobody", console.loud(text_of(*member, "name") + " is in the roster and cannot be answered") +
                                  ": " + text_of(*member, "reason") + "; start it anew under another name"});
  for (const json::object* phantom : objects_of(team, "phantoms"))
    rows.push_back({"phantom", console.loud(text_of(*phantom, "inbox")) + " is an inbox of nobody with " +
                                   count(*phantom, "entries") + " entries, " + count(*phantom, "unread") +
                                   " unread; if it means the lead, name it in team.aliases"});
}

std::string team_text(const Console& console, const json::object& team) {
  const json::object& asks = object_of(team, "asks");
  const long long pending = number_of(asks, "pending");
  std::string asks_text = std::to_string(pending) + " pending";
  if (pending > 0)
    asks_text =
        console.loud(asks_text) + " (the oldest " + ago(number_of(asks, "oldest_ms")) + "): inbox-poller pending";
  const long long quarantined = number_of(team, "quarantined");
  const std::string role = text_of(team, "role");
  const std::string role_reason = text_of(team, "role_reason");
  std::vector<Row> rows{
      {"role",
       (role == "leader" ? role : console.loud(or_dash(role))) + (role_reason.empty() ? "" : ": " + role_reason)},
      {"lead", lead_sentence(object_of(team, "lead"))},
      {"inbox", inbox_text(console, object_of(team, "inbox"))},
      {"asks", asks_text},
      {"chat", chat_text(object_of(team, "chat"))},
      {"replies", count(team, "effects_owed") + " still to be written"},
      {"refused", quarantined == 0 ? "0" : console.loud(std::to_string(quarantined)) + ": inbox-poller quarantine"},
      {"locks", locks_text(object_of(team, "locks"))}};
  if (const json::object& delivery = object_of(team, "delivery"); !delivery.empty()) {
    const auto more = delivery_rows(console, delivery);
    rows.insert(rows.begin() + 2, more.begin(), more.end());
  }
  add_oddities(console, team, rows);
  for (const json::object* rule : objects_of(team, "rules"))
    rows.push_back({"rule", text_of(*rule, "action") + ' ' + text_of(*rule, "kind") + ' ' + text_of(*rule, "rule") +
                                ", by " + text_of(*rule, "by") + ' ' + ago(number_of(*rule, "at_ms"))});
  rows.push_back({"settings", text_of(team, "source")});
  return console.bold("team " + text_of(team, "team")) + '\n' + console.table(rows, "  ") +
         members_text(console, objects_of(team, "members"));
}

std::string status_text(const Context& context, const json::object& answer) {
  std::string text = "inbox-poller " + text_of(answer, "version") + ", process " + count(answer, "pid") +
                     ", running for " + span_text(now_ms() - number_of(answer, "started_ms")) + "\nledger " +
                     text_of(answer, "ledger") + '\n';
  const auto teams = objects_of(answer, "teams");
  if (teams.empty()) text += "\nno team is there yet\n";
  for (const json::object* team : teams) text += '\n' + team_text(context.console, *team);
  return text;
}

/// What makes two answers different for one who reads them one below the other: ages go on by themselves, and locks are
/// taken all the time.
std::string substance(json::object answer) {
  if (json::value* teams = answer.if_contains("teams"); teams != nullptr && teams->is_array())
    for (json::value& team : teams->get_array())
      if (team.is_object()) team.get_object().erase("locks");
  return json::serialize(answer);
}

ExitCode watch(Context& context, config::Duration every) {
  constexpr std::string_view redraw = "\x1b[H\x1b[2J";
  bool interrupted = false;
  boost::asio::io_context loop{1};
  const Signals until_interrupted(loop, {SIGINT}, [&](int) { interrupted = true; });
  std::string shown;
  while (!interrupted) {
    const Result<json::object> answer = context.ask("status");
    loop.poll();
    if (interrupted) break;
    if (!answer) return context.fail(answer.error());
    const bool screen = context.console.out_is_terminal() && !context.json;
    std::string now = substance(*answer);
    if (screen || now != shown) {
      const ExitCode printed =
          context.json ? context.print_json(*answer)
          : screen
              ? context.print(std::string(redraw) + status_text(context, *answer))
              : context.print((shown.empty() ? "" : "\n") + time_text(now_ms()) + '\n' + status_text(context, *answer));
      if (printed != ExitCode::done) return printed;
    }
    shown = std::move(now);
    loop.run_one_for(every);
  }
  return ExitCode::done;
}

struct StatusOptions {
  bool watches = false;
  config::Duration every = std::chrono::seconds(2);
};

ExitCode status(Context& context, const StatusOptions& options) {
  if (options.watches) return watch(context, options.every);
  return context.show("status", {}, [&](const json::object& answer) { return status_text(context, answer); });
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
  return context.show("lead", std::move(request), [](const json::object& answer) {
    return "team " + text_of(answer, "team") + ": " + lead_sentence(answer) + '\n';
  });
}

}  // namespace

void declare_status(CLI::App& command, Context& context) {
  auto options = std::make_shared<StatusOptions>();
  explain(command,
          "For each team: our role, whether the lead is busy and what told so, the way on which messages go to it\n"
          "and why the better ones are not available, what each worker is doing, asks that wait for a person,\n"
          "messages that wait for the lead, replies still to be written, entries that were refused, open shutdowns,\n"
          "modes that were not adopted, inboxes of nobody, and how the inbox locks behave.\n"
          "DOING is idle, busy, waiting (an ask of it is open), failed, silent (busy, but not heard of for\n"
          "team.silent_after) or gone. With --watch a terminal is drawn anew; a file or pipe gets one block for each\n"
          "change. Ctrl-C ends it with 0.\n\n"
          "Examples:\n"
          "  inbox-poller status\n"
          "  inbox-poller status --watch\n"
          "  inbox-poller status --watch=10s >> team.log\n"
          "  inbox-poller status --json | jq '.teams[].members[] | select(.doing == \"silent\").name'");
  command
      .add_option_function<std::string>(
          "--watch",
          [options](const std::string& text) {
            options->watches = true;
            if (!text.empty()) options->every = read_duration("--watch", text);
            if (options->every < std::chrono::milliseconds(100))
              throw CLI::ValidationError("--watch looks at most ten times a second: --watch=100ms");
          },
          "Go on showing it, looking again every 2s or so often")
      ->type_name("[=DURATION]")
      ->expected(0, 1);
  command.callback([options, &context] { context.exit_code = status(context, *options); });
}

void declare_lead(CLI::App& command, Context& context) {
  auto options = std::make_shared<LeadOptions>();
  explain(command,
          "Messages for the lead are kept while it is busy and handed out when it is idle. A report of\n"
          "\"busy\" runs out after a while, so that a lead that dies does not hold the messages for ever.\n"
          "Call this from the lead's own hooks.\n\n"
          "Examples:\n"
          "  inbox-poller lead\n"
          "  inbox-poller lead busy --for 10min\n"
          "  inbox-poller lead idle\n"
          "  inbox-poller lead run --help     # starts the lead, and knows all this by itself");
  command.add_option("STATE", options->state, "busy, idle or gone")
      ->check(CLI::IsMember({"busy", "idle", "gone"}).description(""));
  command.add_option("--for", options->limit, "How long \"busy\" holds at most, such as 10min")->type_name("DURATION");
  command.callback([&command, options, &context] {
    if (command.get_subcommands().empty()) context.exit_code = lead(context, *options);
  });
}

}  // namespace inbox_poller::poller::cli
