// `shutdown` and `shutdowns`: the end of workers, from the request to the last cleanup.
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_every{250};

struct ShutdownOptions {
  std::string member;
  bool all = false;
  std::string reason;
  std::optional<config::Duration> remind_after, force_after;
  bool force = false;
  TeamWait wait;  // without a limit: until the daemon gives up
};

std::string line_of(const operations::Shutdown& shutdown) {
  return printable(shutdown.member) + ": the shutdown " + shutdown_sentence(shutdown) + '\n';
}

/// Prints each change of these shutdowns until none is open. Updates `latest`, by id. False: the time is over.
Result<bool> follow(Context& context, const ShutdownOptions& options,
                    std::map<std::string, operations::Shutdown>& latest) {
  const auto begun = Steady::now();
  std::map<std::string, std::string> shown;  // state and detail by id
  TRY(auto client, context.connect());
  for (;;) {
    bool open = false;
    for (auto& [id, shutdown] : latest) {
      TRY(const auto answer, context.ask(client, arguments::Shutdowns{.id = id}));
      for (const auto& row : answer.shutdowns)
        if (row.team == shutdown.team) shutdown = row;
      open = open || shutdown.open;
      std::string now = shutdown.state.bytes + shutdown.detail.bytes;
      if (std::exchange(shown[id], now) == now || context.json) continue;
      const std::string time = time_text(now_ms());
      if (context.print(time.substr(time.find(' ') + 1) + "  " + line_of(shutdown)) != ExitCode::done)
        return Error{"io.write", "the output is closed"};
    }
    if (!open) return true;
    if (options.wait.limit && Steady::now() - begun >= *options.wait.limit) return false;
    rest(look_every);
  }
}

bool all_cleaned(const std::map<std::string, operations::Shutdown>& shutdowns) {
  return std::all_of(shutdowns.begin(), shutdowns.end(),
                     [](const auto& item) { return item.second.state == "cleaned"; });
}

ExitCode wait_for(Context& context, const ShutdownOptions& options, json::object answer) {
  const auto begun = operations::decode<operations::ShutdownsBegun>(answer);
  std::map<std::string, operations::Shutdown> latest;
  for (const auto& shutdown : begun.shutdowns) latest[shutdown.request_id.bytes] = shutdown;
  const Result<bool> ended = follow(context, options, latest);
  if (!ended) return context.fail(ended.error());
  const bool good = all_cleaned(latest) && begun.refused.empty();
  if (context.json) {
    json::array list;
    for (const auto& [id, shutdown] : latest) list.push_back(operations::encode(shutdown));
    answer["shutdowns"] = std::move(list);
    if (const ExitCode printed = context.print_json(answer); printed != ExitCode::done) return printed;
  } else if (!*ended) {
    context.console.complain(
        "not finished within --wait; it goes on without you, `inbox-poller shutdowns` tells how it stands");
  }
  if (!*ended) return ExitCode::not_in_time;
  return good ? ExitCode::done : ExitCode::failed;
}

ExitCode shutdown(Context& context, const ShutdownOptions& options) {
  if (options.member.empty() != options.all)
    return context.fail(usage_error("say whom to shut down: one MEMBER, or --all"));
  arguments::Shutdown request{
      .member = options.member, .all = options.all, .by = user_name(), .reason = options.reason};
  if (options.remind_after) request.remind_after_ms = options.remind_after->count();
  if (options.force_after) request.force_after_ms = options.force_after->count();
  request.force = options.force;
  Result<ControlClient> client = context.connect();
  if (!client) return context.fail(client.error());
  // The daemon may examine many panes.
  constexpr std::chrono::minutes patience{5};
  TeamAwaited awaited(context, options.wait);
  Result<json::object> answer = context.ask_raw(*client, request, patience);
  while (awaited.again(answer)) answer = context.ask_raw(*client, request, patience);
  if (!answer) return context.fail(answer.error());
  const auto begun = operations::decode<operations::ShutdownsBegun>(*answer);
  const auto& refused = begun.refused;
  for (const auto& one : refused)
    context.console.explain("inbox-poller: " + printable(one.member) + ": " + printable(one.message) + '\n');
  if (options.wait.waits) return wait_for(context, options, *std::move(answer));
  ExitCode printed = ExitCode::done;
  if (context.json) {
    printed = context.print_json(*answer);
  } else {
    std::string text;
    for (const auto& one : begun.shutdowns)
      text += line_of(one) + "  inbox-poller trace " + printable(one.request_id) + '\n';
    if (text.empty() && refused.empty()) text = "the team has no worker to shut down\n";
    printed = context.print(text);
  }
  return printed == ExitCode::done && !refused.empty() ? ExitCode::failed : printed;
}

struct ShutdownsOptions {
  long long limit = 20;
};

ExitCode shutdowns(Context& context, const ShutdownsOptions& options) {
  return context.show(arguments::Shutdowns{.limit = options.limit}, [&](const auto& answer) {
    std::vector<Row> rows{{"ASKED", "TEAM", "WORKER", "STATE", "BY", "ID"}};
    std::string text;
    for (const auto& one : answer.shutdowns) {
      rows.push_back({ago(one.requested_ms), printable(one.team), printable(one.member), printable(one.state),
                      printable(one.by), printable(one.request_id)});
      text += line_of(one);
    }
    return rows.size() == 1 ? "no worker was asked to shut down\n"
                            : context.console.table(rows, "") + '\n' + context.console.fit(text);
  });
}

// clang-format off
constexpr Argument shutdown_takes[] = {
    takes<&ShutdownOptions::member>("MEMBER", "The worker's name"),
    takes<&ShutdownOptions::all>("--all", "Every worker of the team"),
    takes<&ShutdownOptions::reason>("--reason TEXT", "What the worker is told"),
    takes<&ShutdownOptions::remind_after>("--remind-after DURATION", "Remind it once, after so long (0s: never; default: as configured)"),
    takes<&ShutdownOptions::force_after>("--force-after DURATION", "Go on without its consent after so long (default: as configured)"),
    takes<&ShutdownOptions::force>("--force", "End it now, without asking it"),
    takes<&ShutdownOptions::wait>("--wait [=DURATION]", "Show each step until the end, at most so long"),
};
constexpr Argument shutdowns_takes[] = {takes<&ShutdownsOptions::limit>("--limit N", "At most so many").shows_default().within(1, 10000)};

constexpr Command shutdown_rows[] = {
    {.name = arguments::Shutdown::verb, .group = Group::act, .summary = "Ask a worker to end, and clean up after it",
     .help = "Sends a shutdown request. When the worker agrees, its process and pane are ended, it is taken out of the\n"
             "roster, its unfinished tasks are given back, and the lead is told. Only the pane and processes that the\n"
             "roster named when you asked are touched. A worker may refuse; its reason is shown and goes to the lead.\n"
             "Without --force-after (or [shutdown] force_after) a worker that did not agree is never ended.\n\n"
             "A worker that a lead of client 2.1.329 or newer started obeys that lead only: it is not asked, and you\n"
             "are told what --force would end. --force does not ask: it ends at once what is on record of the worker\n"
             "(its pane and its process), and nothing else.\n\n"
             "With --wait each step is shown; it ends with 0 when all is cleaned up, with 1 when the worker refused,\n"
             "and with 5 when the time was over. Write a limit as --wait=2min. Interrupting the wait stops nothing else. Where the\n"
             "team or the worker is not there yet, --wait waits for it first.",
     .examples = "inbox-poller shutdown alice --reason 'the work is merged' --wait\n"
                 "inbox-poller shutdown bob --remind-after 0s --force-after 1min --wait=2min\n"
                 "inbox-poller shutdown carol --force\n"
                 "inbox-poller shutdown --all",
     .arguments = shutdown_takes, .work = runs<shutdown>, .prints = operations::shapes<operations::ShutdownsBegun>},
    {.name = arguments::Shutdowns::verb, .group = Group::look, .summary = "Show who was asked to end, and how far that is",
     .help = "The latest shutdowns, the newest first, and for each a sentence: what it waits for, what was\n"
             "left alone and why, or what to do next.",
     .examples = "inbox-poller shutdowns\n"
                 "inbox-poller shutdowns --json | jq '.shutdowns[] | select(.open)'",
     .arguments = shutdowns_takes, .work = runs<shutdowns>, .prints = operations::shapes<operations::Shutdowns>},
};
// clang-format on

}  // namespace

std::span<const Command> shutdown_commands() { return shutdown_rows; }

}  // namespace inbox_poller::poller::cli
