// `decisions`: the history of decisions with their time, maker and rule.
#include <boost/json.hpp>
#include <memory>
#include <optional>

#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/request_card.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

struct DecisionsOptions {
  int limit = 50;
  std::optional<config::Duration> since;
  std::string member;
  bool full = false;
};

constexpr int subject_cells = 60;

/// Formats a table, oldest first, so that the newest row is next to the prompt.
std::string decisions_text(const Console& console, const std::vector<operations::Request>& list) {
  std::vector<Row> rows{{"WHEN", "TEAM", "KIND", "ID", "MEMBER", "SUBJECT", "STATE", "BY", "RULE", "TOOK"}};
  for (auto at = list.rbegin(); at != list.rend(); ++at) {
    const auto& one = *at;
    const long long decided = one.decided_ms;
    rows.push_back(
        {brief_time_text(decided, now_ms()), printable(one.team), printable(one.kind), printable(one.request_id),
         printable(one.member), or_dash(cut(printable(one.subject), subject_cells)), printable(one.state),
         or_dash(printable(one.decided_by)), or_dash(printable(one.rule)), span_text(decided - one.asked_ms)});
  }
  return console.lines(std::move(rows), "ID", {"TEAM", "KIND", "TOOK"});
}

/// Formats the whole requests and their outcomes.
std::string decisions_in_full(const Console& console, const std::vector<operations::Request>& list) {
  std::string text;
  for (auto at = list.rbegin(); at != list.rend(); ++at)
    text += (text.empty() ? "" : "\n") + console.bold(request_name(*at)) + request_content(*at) + "  asked " +
            time_text(at->asked_ms) + "\n  it " + request_sentence(*at) + '\n';
  return console.fit(text);
}

ExitCode decisions(Context& context, const DecisionsOptions& options) {
  const Result<json::object> answer =
      context.ask_raw(arguments::Decisions{.member = options.member,
                                           .since_ms = options.since ? now_ms() - options.since->count() : 0,
                                           .limit = options.limit});
  if (!answer) return context.fail(answer.error());
  const auto list = operations::decode<operations::Decisions>(*answer).decisions;
  const ExitCode printed = context.json   ? context.print_json(with_values(*answer, "decisions"))
                           : list.empty() ? ExitCode::done
                           : options.full ? context.print(decisions_in_full(context.console, list))
                                          : context.print(decisions_text(context.console, list));
  if (printed != ExitCode::done || !list.empty()) return printed;
  if (!context.json) context.console.complain("no decision is in the ledger that fits");
  return ExitCode::not_found;
}

// clang-format off
constexpr Argument decisions_takes[] = {
    takes<&DecisionsOptions::limit>("--limit N", "At most so many, the newest").shows_default().within(1, 10'000),
    takes<&DecisionsOptions::full>("--full", "All of what was asked, and why it was decided so"),
    takes<&DecisionsOptions::since>("--since DURATION", "Only those of the last so long, such as 2h"),
    takes<&DecisionsOptions::member>("--member,--asker NAME", "Only those of this worker"),
};

constexpr Command decision_rows[] = {
    {.name = arguments::Decisions::verb, .group = Group::look, .summary = "Show who decided which request, when, and by which rule",
     .help = "One line for each request that was decided, oldest first, so that the newest stands last. A narrow terminal\n"
             "leaves out TEAM, KIND and TOOK. BY is a person's name, the lead's, or rule, deadline and the like; RULE is\n"
             "the rule that decided, or left it to BY. TOOK is the time from the request to the decision. SUBJECT is the\n"
             "first line of the command, the file and how much of it changed, the host, the plan's title; what looks like\n"
             "a secret in it is masked. --full shows all of what was asked, unmasked. `inbox-poller trace ID` has\n"
             "everything that followed. --json gives the whole requests, the newest first.",
     .examples = "inbox-poller decisions --since 1h\n"
                 "inbox-poller decisions --member alice --limit 5\n"
                 "inbox-poller decisions --json | jq -r '.decisions[] | select(.state == \"denied\") | .request_id'",
     .arguments = decisions_takes, .work = runs<decisions>, .prints = operations::shapes<operations::Decisions>},
};
// clang-format on

}  // namespace

std::span<const Command> decision_commands() { return decision_rows; }

}  // namespace inbox_poller::poller::cli
