// `trace` and `quarantine`: what happened, and what was not obeyed.
#include <boost/json.hpp>
#include <memory>

#include "poller/cli/ask_card.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/hosts_text.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

std::string effects_text(const json::object& of) {
  std::string text;
  for (const json::object* effect : objects_of(of, "effects"))
    text += "    what we wrote for " + text_of(*effect, "inbox") + ": " + effect_sentence(*effect) + '\n';
  return text;
}

bool is_of(const json::object& message, const json::object& team) {
  return raw_text_of(team, "team") == raw_text_of(message, "team");
}

/// What `status` says now of the team of a message that waits; empty when there is none, or no answer.
json::object waiting_team(const Context& context, const json::object& answer) {
  for (const json::object* message : objects_of(answer, "messages")) {
    if (raw_text_of(*message, "delivery") != "queued") continue;
    const Result<json::object> status = context.ask("status", {});
    if (!status) return {};
    for (const json::object* team : objects_of(*status, "teams"))
      if (is_of(*message, *team)) return *team;
  }
  return {};
}

}  // namespace

std::string trace_text(const Console& console, const json::object& answer, const json::object& team, bool full) {
  std::string text;
  for (const json::object* message : objects_of(answer, "messages")) {
    const std::string type = text_of(*message, "type");
    text += console.bold("message " + text_of(*message, "message_key")) + '\n' + "  " +
            (type.empty() ? "" : type + ' ') + "from " + text_of(*message, "sender") + " to " +
            text_of(*message, "inbox") + ", team " + text_of(*message, "team") + ", found " +
            ago(number_of(*message, "received_ms")) + "\n  it " +
            message_sentence(*message, is_of(*message, team) ? team : json::object()) + '\n';
  }
  for (const json::object* request : objects_of(answer, "requests")) {
    const std::string what = "\n  " + text_of(*request, "member") + ", team " + text_of(*request, "team") + ", about " +
                             text_of(*request, "subject") + '\n';
    text += console.bold(ask_name(*request)) + (full ? ask_content(*request) : what) + "  it " +
            request_sentence(*request) + '\n' + effects_text(*request);
  }
  for (const json::object* shutdown : objects_of(answer, "shutdowns")) {
    const std::string reason = text_of(*shutdown, "reason");
    text += console.bold("shutdown " + text_of(*shutdown, "request_id")) + "\n  " + text_of(*shutdown, "member") +
            ", team " + text_of(*shutdown, "team") + ", asked by " + text_of(*shutdown, "by") + ' ' +
            ago(number_of(*shutdown, "requested_ms")) + (reason.empty() ? "" : ": " + reason) + "\n  it " +
            shutdown_sentence(*shutdown) + '\n' + effects_text(*shutdown);
  }
  for (const json::object* effect : objects_of(answer, "effects"))
    text += console.bold("message of ours " + text_of(*effect, "message_key")) + "\n  for " +
            text_of(*effect, "inbox") + ", team " + text_of(*effect, "team") + ", decided " +
            ago(number_of(*effect, "created_ms")) + "\n  it is " + effect_sentence(*effect) + '\n';
  for (const json::object* letter : objects_of(answer, "letters"))
    text += console.bold("letter " + text_of(*letter, "message_key")) + "\n  " + text_of(*letter, "type") + " from " +
            text_of(*letter, "sender") + " to " + text_of(*letter, "inbox") + ", team " + text_of(*letter, "team") +
            "\n  it " + letter_sentence(*letter) + '\n';
  std::vector<Row> rows;
  for (const json::object* event : objects_of(answer, "history"))
    rows.push_back({time_text(number_of(*event, "at_ms")), text_of(*event, "event"), text_of(*event, "detail")});
  return console.fit(text) + (rows.empty() ? "" : "\n" + console.table(rows, "  "));
}

namespace {

ExitCode trace(Context& context, const std::string& id, const std::string& kind, bool full) {
  json::object request{{"id", id}};
  if (!kind.empty()) request["kind"] = kind;
  const Result<json::object> answer = context.ask("trace", std::move(request));
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(with_values(*answer, "requests"));
  return context.print(trace_text(context.console, *answer, waiting_team(context, *answer), full));
}

ExitCode quarantine(Context& context, long long limit) {
  return context.show("quarantine", {{"limit", limit}}, [&](const json::object& answer) -> std::string {
    std::string text;
    std::vector<Row> rows{{"WHEN", "TEAM", "INBOX", "FROM", "TYPE", "KEY", "WHY"}};
    for (const json::object* entry : objects_of(answer, "entries"))
      rows.push_back({ago(number_of(*entry, "received_ms")), text_of(*entry, "team"), text_of(*entry, "inbox"),
                      text_of(*entry, "sender"), text_of(*entry, "type"), text_of(*entry, "message_key"),
                      text_of(*entry, "reason") + " (" + text_of(*entry, "code") + ')'});
    if (rows.size() > 1)
      text += context.console.bold("entries that were not obeyed") +
              "; their bytes are in the ledger: --json shows them as \"entry\"\n" + context.console.table(rows, "  ");
    std::vector<Row> files{{"WHEN", "BYTES", "COPY"}};
    for (const json::object* file : objects_of(answer, "files"))
      files.push_back(
          {ago(number_of(*file, "modified_ms")), std::to_string(number_of(*file, "size")), text_of(*file, "path")});
    if (files.size() > 1)
      text += (text.empty() ? "" : "\n") + context.console.bold("copies of files that could not be read") +
              "; the files themselves were left alone\n" + context.console.table(files, "  ");
    return text.empty() ? "the quarantine is empty\n" : text;
  });
}

}  // namespace

void declare_trace(CLI::App& command, Context& context) {
  auto id = std::make_shared<std::string>();
  auto kind = std::make_shared<std::string>();
  explain(command,
          "Where it is now and why, what to do about it, and everything that happened to it, in order. Takes\n"
          "a message key (also of a message that we wrote), the beginning of one, or the id of an ask or of a\n"
          "shutdown. Of an ask its subject is shown, masked; --full shows all of what was asked.\n\n"
          "Examples:\n"
          "  inbox-poller trace perm-17\n"
          "  inbox-poller trace shutdown-1770477646348@alice\n"
          "  inbox-poller trace 0f3a9c21");
  command.add_option("ID", *id, "A message key, the beginning of one, or the id of an ask or a shutdown")->required();
  command.add_option("--kind", *kind, "Of asks only those of this kind: permission, sandbox, plan, stop")
      ->type_name("KIND");
  auto full = std::make_shared<bool>(false);
  command.add_flag("--full", *full, "All of what was asked");
  command.callback([id, kind, full, &context] { context.exit_code = trace(context, *id, *kind, *full); });
}

void declare_quarantine(CLI::App& command, Context& context) {
  auto limit = std::make_shared<long long>(200);
  explain(command,
          "Entries that were not obeyed (a stranger's, a control message from the wrong side, broken ones), the\n"
          "newest first, and copies of inbox files that could not be read for several polls.\n\n"
          "Examples:\n"
          "  inbox-poller quarantine\n"
          "  inbox-poller quarantine --json | jq -r '.entries[0].entry'");
  command.add_option("--limit", *limit, "At most so many entries")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000).description(""));
  command.callback([limit, &context] { context.exit_code = quarantine(context, *limit); });
}

}  // namespace inbox_poller::poller::cli
