// `status` and `lead`: the state of the teams.
#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <memory>

#include "config/units.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/loop.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/status_text.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds short_patience{2000};  // a shell prompt waits for it

struct Watch {
  bool is_on = false;
  config::Duration every = std::chrono::seconds(2);

  static constexpr bool may_be_left_out = true;
  void read(const std::string& option, const std::string& text) {
    is_on = true;
    if (!text.empty()) every = read_duration(option, text);
    if (every < std::chrono::milliseconds(100))
      throw CLI::ValidationError("--watch looks at most ten times a second: --watch=100ms");
  }
};

struct StatusOptions {
  Watch watch;
  bool is_long = false;
  bool is_short = false;
};

std::vector<TeamLine> lines_of(const operations::Status& answer) {
  std::vector<TeamLine> lines;
  for (const auto& team : answer.teams) lines.push_back(team_line(team));
  return lines;
}

std::string status_text(const Context& context, const operations::Status& answer, bool is_long) {
  std::string text = "inbox-poller " + printable(answer.version) + ", process " + std::to_string(answer.pid) +
                     ", running for " + span_text(now_ms() - answer.started_ms) + '\n';
  const auto& teams = answer.teams;
  const bool listed = teams.size() > 1 && !is_long;
  if (!listed) text += "ledger " + printable(answer.ledger) + '\n';
  if (teams.empty()) return text + "\nno team is there yet\n";
  if (listed) return text + '\n' + teams_text(context.console, lines_of(answer), is_long);
  if (teams.size() > 1) text += '\n' + teams_text(context.console, lines_of(answer), is_long);
  for (const auto& team : teams) text += '\n' + team_text(context.console, team, is_long);
  return text;
}

/// Prints at most one line, for a shell prompt, without a long wait.
ExitCode status_in_short(Context& context) {
  Result<ControlClient> client = context.connect();
  const auto answer = client ? context.ask(*client, arguments::Status(), short_patience) : client.error();
  if (!answer) {
    if (context.json) return context.fail(answer.error());
    const bool is_gone = answer.error().code == code::no_daemon;
    const bool is_late = answer.error().code == code::timeout;
    if (!is_gone && !is_late) return context.fail(answer.error());
    const ExitCode printed = context.print(is_gone ? "no daemon\n" : "the daemon does not answer\n");
    return printed != ExitCode::done ? printed : is_gone ? ExitCode::no_daemon : ExitCode::not_in_time;
  }
  const Short sum = short_of(lines_of(*answer));
  const ExitCode printed = context.json   ? context.print_record(operations::ShortStatus{sum.waits, sum.line})
                           : sum.waits ? context.print(sum.line + '\n')
                                       : ExitCode::done;
  return printed != ExitCode::done ? printed : sum.waits ? ExitCode::done : ExitCode::not_found;
}

/// Returns an answer without its lock statistics, which change all the time. Equal texts are not printed again.
std::string substance(json::object answer) {
  if (json::value* teams = answer.if_contains("teams"); teams != nullptr && teams->is_array())
    for (json::value& team : teams->get_array())
      if (team.is_object()) team.get_object().erase("locks");
  return json::serialize(answer);
}

ExitCode watch(Context& context, const StatusOptions& options) {
  constexpr std::string_view redraw = "\x1b[H\x1b[2J";
  bool interrupted = false;
  boost::asio::io_context loop{1};
  const Signals until_interrupted(loop, {SIGINT}, [&](int) { interrupted = true; });
  std::string shown, absent;
  while (!interrupted) {
    const Result<json::object> answer = context.ask_raw(arguments::Status());
    loop.poll();
    if (interrupted) break;
    if (!answer && absent != answer.error().message) {
      if (answer.error().code != "team.absent") return context.fail(answer.error());
      context.console.complain(printable(absent = answer.error().message));
    }
    if (!answer) {
      loop.run_one_for(options.watch.every);
      continue;
    }
    const bool screen = context.console.out_is_terminal() && !context.json;
    std::string now = substance(*answer);
    if (screen || now != shown) {
      const ExitCode printed =
          context.json ? context.print_json(*answer)
          : screen
              ? context.print(std::string(redraw) +
                              status_text(context, operations::decode<operations::Status>(*answer), options.is_long))
              : context.print((shown.empty() ? "" : "\n") + time_text(now_ms()) + '\n' +
                              status_text(context, operations::decode<operations::Status>(*answer), options.is_long));
      if (printed != ExitCode::done) return printed;
    }
    shown = std::move(now);
    loop.run_one_for(options.watch.every);
  }
  return ExitCode::done;
}

ExitCode status(Context& context, const StatusOptions& options) {
  if (options.is_short) return status_in_short(context);
  if (options.watch.is_on) return watch(context, options);
  return context.show(arguments::Status(),
                      [&](const auto& answer) { return status_text(context, answer, options.is_long); });
}

struct LeadOptions {
  std::string state;
  std::string limit;
};

ExitCode lead(Context& context, const LeadOptions& options) {
  arguments::Lead request{.state = options.state};
  if (!options.limit.empty()) {
    const Result<config::Duration> limit = config::parse_duration(options.limit);
    if (!limit || options.state != "busy")
      return context.fail(usage_error("--ttl takes a duration such as 10min, and only together with busy"));
    request.for_ms = limit->count();
  }
  return context.show(request, [](const auto& answer) {
    return "team " + printable(answer.team) + ": " + lead_sentence(answer) + '\n';
  });
}

// clang-format off
constexpr Argument status_takes[] = {
    takes<&StatusOptions::watch>("--watch [=DURATION]", "Go on showing it, looking again every 2s or so often"),
    takes<&StatusOptions::is_long>("--long", "Each team, with all that can be said of it"),
    takes<&StatusOptions::is_short>("--short", "One line for a prompt; nothing when nothing waits").excludes("--long, --watch"),
};
constexpr Argument lead_takes[] = {
    takes<&LeadOptions::state>("STATE", "busy, idle or offline").one_of("busy, idle, offline"),
    takes<&LeadOptions::limit>("--ttl DURATION", "How long \"busy\" holds at most, such as 10min"),
};

constexpr Command status_rows[] = {
    {.name = arguments::Status::verb, .group = Group::look, .summary = "Show the teams, their workers, and what is waiting",
     .help = "Several teams: a line each, with the requests that wait for a person and the age of the oldest, the chat that\n"
             "waits for the lead, how many workers do what, and what is wrong, in a word. One team (the only one, or\n"
             "--team): whether the lead is busy and what told so, the way on which messages go to it, what each worker is\n"
             "doing, and whatever is not as usual; with --long also what is nothing or as usual, and why better ways to\n"
             "the lead are not used.\n"
             "A worker is idle, busy, waiting (a request of it is open), failed, unresponsive (busy, but not heard of for\n"
             "team.unresponsive_after) or gone. With --watch a terminal is drawn again; a file or pipe gets one block for each\n"
             "change. Ctrl-C ends it with 0.\n"
             "--short is for a prompt or a status bar: one line with what waits, such as \"2 requests 3m, 5 chat 40s,\n"
             "1 unresponsive, beta: paused\", and 0; nothing, and 4, when nothing waits; \"no daemon\", and 3.",
     .examples = "inbox-poller status\n"
                 "inbox-poller status --team demo --long\n"
                 "inbox-poller status --watch=10s >> team.log\n"
                 "set -g status-right '#(inbox-poller status --short)'        # in ~/.tmux.conf\n"
                 "inbox-poller status --json | jq '.teams[].members[] | select(.doing == \"unresponsive\").member'",
     .arguments = status_takes, .work = runs<status>, .prints = operations::shapes<operations::Status, operations::ShortStatus>},
    {.name = arguments::Lead::verb, .group = Group::deliver, .summary = "Say that the lead is busy, idle or offline; or show its state",
     .help = "Messages for the lead are kept while it is busy and handed out when it is idle. A report of\n"
             "\"busy\" runs out after a while, so that a lead that dies does not hold the messages without end.\n"
             "Call this from the lead's own hooks.",
     .examples = "inbox-poller lead\n"
                 "inbox-poller lead busy --ttl 10min\n"
                 "inbox-poller lead idle\n"
                 "inbox-poller lead run --help     # starts the lead, and knows all this by itself",
     .arguments = lead_takes, .work = runs<lead>, .prints = operations::shapes<operations::LeadOfTeam>},
};
// clang-format on

}  // namespace

std::span<const Command> status_commands() { return status_rows; }

}  // namespace inbox_poller::poller::cli
