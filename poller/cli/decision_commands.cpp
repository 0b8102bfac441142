// `decisions`: who decided what, when, by which rule.
#include <boost/json.hpp>
#include <memory>
#include <optional>

#include "poller/cli/ask_card.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"

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

/// Oldest first: the newest stands where a terminal's reader looks, at the end.
std::string decisions_text(const Console& console, const std::vector<operations::Ask>& list) {
  std::vector<Row> rows{{"WHEN", "TEAM", "KIND", "ID", "MEMBER", "SUBJECT", "STATE", "BY", "RULE", "TOOK"}};
  for (auto at = list.rbegin(); at != list.rend(); ++at) {
    const auto& one = *at;
    const long long decided = one.decided_ms;
    rows.push_back(
        {brief_time_text(decided, now_ms()), printable(one.team), printable(one.kind), printable(one.request_id),
         printable(one.member), or_dash(cut(printable(one.subject), subject_cells)), printable(one.state),
         or_dash(printable(one.decided_by)), or_dash(printable(one.rule)), span_text(decided - one.asked_ms)});
  }
  return console.table(rows, "");
}

/// All of what was asked, and what became of it.
std::string decisions_in_full(const Console& console, const std::vector<operations::Ask>& list) {
  std::string text;
  for (auto at = list.rbegin(); at != list.rend(); ++at)
    text += (text.empty() ? "" : "\n") + console.bold(ask_name(*at)) + ask_content(*at) + "  asked " +
            time_text(at->asked_ms) + "\n  it " + request_sentence(*at) + '\n';
  return console.fit(text);
}

ExitCode decisions(Context& context, const DecisionsOptions& options) {
  json::object request{{"limit", options.limit}};
  if (options.since) request["since_ms"] = now_ms() - options.since->count();
  if (!options.member.empty()) request["member"] = options.member;
  const Result<json::object> answer = context.ask("decisions", std::move(request));
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

}  // namespace

void declare_decisions(CLI::App& command, Context& context) {
  auto options = std::make_shared<DecisionsOptions>();
  explain(command,
          "One line for each ask that was decided, oldest first, so that the newest stands last. BY is a person's\n"
          "name, the lead's, or rule, deadline and the like; RULE is the rule that decided. TOOK is the time from\n"
          "the ask to the decision. SUBJECT is the first line of the command, the file and how much of it changed,\n"
          "the host, the plan's title; what looks like a secret in it is masked. --full shows all of what was asked,\n"
          "unmasked. `inbox-poller trace ID` has everything that followed. --json gives the whole asks, the newest\n"
          "first.\n\n"
          "Examples:\n"
          "  inbox-poller decisions --since 1h\n"
          "  inbox-poller decisions --member alice --limit 5\n"
          "  inbox-poller decisions --json | jq -r '.decisions[] | select(.state == \"denied\") | .request_id'");
  command.add_option("--limit", options->limit, "At most so many, the newest")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000).description(""));
  command.add_flag("--full", options->full, "All of what was asked, and why it was decided so");
  add_duration(command, "--since", options->since, "Only those of the last so long, such as 2h");
  command.add_option("--member,--asker", options->member, "Only those of this worker")->type_name("NAME");
  command.callback([options, &context] { context.exit_code = decisions(context, *options); });
}

}  // namespace inbox_poller::poller::cli
