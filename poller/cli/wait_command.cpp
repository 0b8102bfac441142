// `wait`: waits until a team reaches a state, for hooks and scripts.
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "schema/operations/order.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

using std::chrono::milliseconds;
using WaitClock = std::chrono::steady_clock;

constexpr milliseconds one_request = std::chrono::minutes(5);  // then repeated, so that a hanging daemon is noticed
constexpr milliseconds answer_patience = std::chrono::seconds(30);

struct WaitOptions {
  bool idle = false, closed = false, mail = false, answered = false;
  bool all = false;
  bool quiet = false;
  std::optional<config::Duration> limit;  // empty: no limit
};

/// Lists the states that the options name.
decltype(arguments::Wait::until) points_of(const WaitOptions& options) {
  decltype(arguments::Wait::until) points;
  for (const auto& [wanted, name] : {std::pair{options.idle, "idle"}, std::pair{options.closed, "closed"},
                                     std::pair{options.mail, "mail"}, std::pair{options.answered, "answered"}})
    if (wanted) points.emplace_back(name);
  return points;
}

std::string sentence_of(const operations::Text& point, const operations::Waited& answer) {
  if (point == "idle") return answer.present == 0 ? "the team has no worker" : "no worker is working";
  if (point == "closed") return "no worker is left";
  if (point == "answered") return "no request is open";
  const long long mail = answer.mail;
  return std::to_string(mail) + (mail == 1 ? " message waits" : " messages wait") + " for the lead";
}

/// Describes the states reached.
std::string met_text(const operations::Waited& answer) {
  std::string text;
  for (const auto& point : answer.met) text += (text.empty() ? "" : ", ") + sentence_of(point, answer);
  return text;
}

/// Describes what is still open when the time is over.
std::string open_text(const operations::Waited& answer) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& worker : answer.working) add(printable(worker.member) + " is " + printable(worker.doing));
  if (const long long requests = answer.requests; requests > 0)
    add(std::to_string(requests) + (requests == 1 ? " request is open" : " requests are open"));
  if (const long long open = answer.shutdowns; open > 0)
    add(std::to_string(open) + (open == 1 ? " shutdown is under way" : " shutdowns are under way"));
  if (answer.mail == 0) add("no message waits for the lead");
  return text;
}

/// Returns the last answer: the state is reached, or the time is over.
Result<json::object> answer_of(const Context& context, const WaitOptions& options) {
  const auto begun = WaitClock::now();
  TRY(auto client, context.connect());
  TeamAwaited awaited(context, {!options.closed, options.limit});  // a closed team is not waited for
  for (;;) {
    milliseconds span = one_request;
    if (options.limit) {
      const auto passed = std::chrono::floor<milliseconds>(WaitClock::now() - begun);
      span = std::clamp(milliseconds(*options.limit) - passed, milliseconds(0), one_request);
    }
    const arguments::Wait request{.until = points_of(options), .all = options.all, .wait_ms = span.count()};
    Result<json::object> answer = context.ask_raw(client, request, span + answer_patience);
    if (!options.closed && awaited.again(answer)) continue;
    if (!answer || flag_of(*answer, "is_met")) return answer;
    if (options.limit && WaitClock::now() - begun >= *options.limit) return answer;
  }
}

bool is_gone(const Error& error) {
  return error.code == code::no_daemon || error.code == code::broken || error.code == code::timeout ||
         error.code == "control.closed";
}

ExitCode wait(Context& context, const WaitOptions& options) {
  if (points_of(options).empty())
    return context.fail(usage_error("say what to wait for: --idle, --exited, --mail, --answered, or several of them"));
  const Result<json::object> answer = answer_of(context, options);
  if (!answer) {
    const ExitCode told = context.fail(answer.error());
    return is_gone(answer.error()) ? ExitCode::no_daemon : told;
  }
  const auto waited = operations::decode<operations::Waited>(*answer);
  const ExitCode code = waited.is_met ? ExitCode::done : ExitCode::not_in_time;
  if (options.quiet) return code;
  ExitCode printed = ExitCode::done;
  if (context.json)
    printed = context.print_json(*answer);
  else if (code == ExitCode::done)
    printed = context.print(met_text(waited) + '\n');
  else
    context.console.complain("the time is over: " + open_text(waited));
  return printed != ExitCode::done ? printed : code;
}

// clang-format off
constexpr Argument wait_takes[] = {
    takes<&WaitOptions::idle>("--idle", "Until no worker works"),
    takes<&WaitOptions::closed>("--exited", "Until no worker is left"),
    takes<&WaitOptions::mail>("--mail", "Until a message waits for the lead"),
    takes<&WaitOptions::answered>("--answered", "Until no request is open"),
    takes<&WaitOptions::all>("--all", "Until all of these are met, not the first"),
    takes<&WaitOptions::limit>("--timeout DURATION", "Wait at most so long (default: without a limit)"),
    takes<&WaitOptions::quiet>("--quiet", "Print nothing; the exit code tells"),
};

constexpr Command wait_rows[] = {
    {.name = arguments::Wait::verb, .group = Group::look, .summary = "Wait for idle or ended workers, for mail, or until no request is open",
     .help = "Waits until a team has come so far, and says what was met. Of several conditions the first that is met ends\n"
             "it; with --all, when all of them are. What is so already is met at once. A team that is not there yet is\n"
             "waited for, but not for --exited.\n"
             "  --idle      no worker works: each is idle, has failed or is gone; also with no worker at all. One that was\n"
             "              sent a text (send, broadcast) works until it is heard of. An unresponsive one still works\n"
             "  --exited    no worker is left, and no shutdown is under way\n"
             "  --mail      a message waits for the lead\n"
             "  --answered  no request is open",
     .examples = "inbox-poller send ada 'fix the tests' && inbox-poller wait --idle --timeout 30min\n"
                 "inbox-poller shutdown --all && inbox-poller wait --exited --timeout 5min\n"
                 "inbox-poller wait --mail --timeout 1h && inbox-poller recv\n"
                 "# a headless lead's Stop hook: its turn ends only when no worker works and no mail has come\n"
                 "inbox-poller wait --idle --mail --timeout 10min --quiet; exec inbox-poller hook",
     .arguments = wait_takes, .work = runs<wait>, .prints = operations::shapes<operations::Waited>,
     .exit_codes = "Exit codes:\n"
                   "  0  met\n"
                   "  1  refused by the daemon, or a fault\n"
                   "  2  the command line is wrong\n"
                   "  3  no daemon answers, or it ended while we waited\n"
                   "  4  no such team\n"
                   "  5  the time is over\n"},
};
// clang-format on

}  // namespace

std::span<const Command> wait_commands() { return wait_rows; }

}  // namespace inbox_poller::poller::cli
