// `trace` and `quarantine`: the history of an id, and rejected messages.
#include <boost/algorithm/string/replace.hpp>
#include <boost/json.hpp>
#include <memory>

#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/nodes_text.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/request_card.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

std::string effects_text(const std::vector<operations::Effect>& effects) {
  std::string text;
  for (const auto& effect : effects)
    text += "    the message to " + printable(effect.inbox) + " is " + effect_sentence(effect) + '\n';
  return text;
}

/// Replaces times of the log, such as "deadline_ms=1795815308476", by local ones: "deadline=2026-11-27 21:48:28".
std::string with_times(std::string detail) {
  boost::replace_all(detail, "deadline_ms=0", "deadline=none");
  constexpr std::size_t mark = 4, digits = 13;  // digits of a time between 2001 and 2286; durations have fewer
  for (auto at = detail.find("_ms="); at != std::string::npos; at = detail.find("_ms=", at + 1))
    if (std::min(detail.find_first_not_of("0123456789", at + mark), detail.size()) == at + mark + digits)
      detail.replace(at, mark + digits, '=' + time_text(std::stoll(detail.substr(at + mark, digits))));
  return detail;
}

/// Returns the team of the first queued message from `status`; empty without such a message or an answer.
std::optional<operations::Team> waiting_team(const Context& context, const operations::Trace& answer) {
  for (const auto& message : answer.messages) {
    if (message.delivery != "queued") continue;
    auto status = context.ask(arguments::Status());
    if (!status) return {};
    for (auto& team : status->teams)
      if (team.team == message.team) return std::move(team);
  }
  return {};
}

}  // namespace

std::string trace_text(const Console& console, const operations::Trace& answer, const operations::Team* team,
                       bool full) {
  std::string text;
  for (const auto& message : answer.messages) {
    const std::string type = printable(message.type);
    text += console.bold("message " + printable(message.message_key)) + '\n' + "  " + (type.empty() ? "" : type + ' ') +
            "from " + printable(message.sender) + " to " + printable(message.inbox) + ", team " +
            printable(message.team) + ", found " + ago(message.received_ms) + "\n  it " +
            message_sentence(message, team != nullptr && team->team == message.team ? team : nullptr) + '\n';
  }
  for (const auto& request : answer.requests) {
    const std::string what = "\n  " + printable(request.member) + ", team " + printable(request.team) + ", about " +
                             printable(request.subject) + '\n';
    text += console.bold(request_name(request)) + (full ? request_content(request) : what) + "  it " +
            request_sentence(request) + '\n' + effects_text(request.effects);
  }
  for (const auto& shutdown : answer.shutdowns) {
    const std::string reason = printable(shutdown.reason);
    text += console.bold("shutdown " + printable(shutdown.request_id)) + "\n  " + printable(shutdown.member) +
            ", team " + printable(shutdown.team) + ", asked by " + printable(shutdown.by) + ' ' +
            ago(shutdown.requested_ms) + (reason.empty() ? "" : ": " + reason) + "\n  it " +
            shutdown_sentence(shutdown) + '\n' + effects_text(shutdown.effects);
  }
  for (const auto& effect : answer.effects)
    text += console.bold("message of ours " + printable(effect.message_key)) + "\n  for " + printable(effect.inbox) +
            ", team " + printable(effect.team) + ", decided " + ago(effect.created_ms) + "\n  it is " +
            effect_sentence(effect) + '\n';
  for (const auto& letter : answer.node_messages)
    text += console.bold("message between nodes " + printable(letter.message_key)) + "\n  " + printable(letter.type) + " from " +
            printable(letter.sender) + " to " + printable(letter.inbox) + ", team " + printable(letter.team) +
            "\n  it " + node_message_sentence(letter) + '\n';
  std::vector<Row> rows;
  for (const auto& event : answer.history)
    rows.push_back({time_text(event.at_ms), printable(event.event), with_times(printable(event.detail))});
  return console.fit(text) + (rows.empty() ? "" : "\n" + console.table(rows, "  "));
}

namespace {

struct TraceOptions {
  std::string id, kind;
  bool full = false;
};

ExitCode trace(Context& context, const TraceOptions& options) {
  const Result<json::object> answer = context.ask_raw(arguments::Trace{options.id, options.kind});
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(with_values(*answer, "requests"));
  const auto traced = operations::decode<operations::Trace>(*answer);
  const auto team = waiting_team(context, traced);
  return context.print(trace_text(context.console, traced, team ? &*team : nullptr, options.full));
}

struct QuarantineOptions {
  long long limit = 200;
};

ExitCode quarantine(Context& context, const QuarantineOptions& options) {
  return context.show(arguments::Quarantine{.limit = options.limit}, [&](const auto& answer) -> std::string {
    std::string text;
    std::vector<Row> rows{{"WHEN", "TEAM", "INBOX", "FROM", "TYPE", "KEY", "WHY"}};
    for (const auto& entry : answer.entries)
      rows.push_back({ago(entry.received_ms), printable(entry.team), printable(entry.inbox), printable(entry.sender),
                      printable(entry.type), printable(entry.message_key).substr(0, 12),
                      printable(entry.reason) + " (" + printable(entry.code) + ')'});
    if (rows.size() > 1)
      text += context.console.bold("entries that were not obeyed") +
              "; their bytes are in the ledger: --json shows them as \"entry\"\n" +
              context.console.lines(std::move(rows), "KEY", {"TEAM", "INBOX", "TYPE"});
    std::vector<Row> files{{"WHEN", "BYTES", "COPY"}};
    for (const auto& file : answer.files)
      files.push_back({ago(file.modified_ms), std::to_string(file.size), printable(file.path)});
    if (files.size() > 1)
      text += (text.empty() ? "" : "\n") + context.console.bold("copies of files that could not be read") +
              "; the files themselves were left alone\n" + context.console.table(files, "  ");
    return text.empty() ? "the quarantine is empty\n" : text;
  });
}

// clang-format off
constexpr Argument trace_takes[] = {
    takes<&TraceOptions::id>("ID", "A message key, the beginning of one, the id of a request or a shutdown, or WORKER/ID").required(),
    takes<&TraceOptions::kind>("--kind KIND", "Of requests only those of this kind: permission, sandbox, plan, stop"),
    takes<&TraceOptions::full>("--full", "All of what was asked"),
};
constexpr Argument quarantine_takes[] = {takes<&QuarantineOptions::limit>("--limit N", "At most so many entries").shows_default().within(1, 10000)};

constexpr Command trace_rows[] = {
    {.name = arguments::Trace::verb, .group = Group::look, .summary = "Show the whole life of a message, a request or a shutdown",
     .help = "Where it is now and why, what to do about it, and everything that happened to it, in order. Takes\n"
             "a message key (also of a message that we wrote), the beginning of one, or the id of a request or of a\n"
             "shutdown. Of a request its subject is shown, masked; --full shows all of what was asked.",
     .examples = "inbox-poller trace perm-17\n"
                 "inbox-poller trace shutdown-1770477646348@alice\n"
                 "inbox-poller trace 0f3a9c21",
     .arguments = trace_takes, .work = runs<trace>, .prints = operations::shapes<operations::Trace>},
    {.name = arguments::Quarantine::verb, .group = Group::look, .summary = "Show rejected and unreadable messages, with reason and bytes",
     .help = "Entries that were not obeyed (a stranger's, a control message from the wrong side, broken ones), the\n"
             "newest first, and copies of inbox files that could not be read for several polls.",
     .examples = "inbox-poller quarantine\n"
                 "inbox-poller quarantine --json | jq -r '.entries[0].entry'",
     .arguments = quarantine_takes, .work = runs<quarantine>, .prints = operations::shapes<operations::Quarantine>},
};
// clang-format on

}  // namespace

std::span<const Command> trace_commands() { return trace_rows; }

}  // namespace inbox_poller::poller::cli
