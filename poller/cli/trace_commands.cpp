// `trace` and `quarantine`: what happened, and what was not obeyed.
#include <boost/json.hpp>
#include <memory>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

std::string delivery_sentence(const json::object& message) {
  const std::string state = raw_text_of(message, "delivery");
  const std::string sink = text_of(message, "sink");
  const long long attempts = number_of(message, "attempts");
  std::string text;
  if (state == "queued") {
    text = "waits for the lead";
  } else if (state == "offered") {
    text =
        "was handed out through " + sink + ' ' + ago(number_of(message, "offered_ms")) + " and is not acknowledged yet";
  } else if (state == "delivered") {
    text = "was delivered through " + sink + ' ' + ago(number_of(message, "delivered_ms"));
  } else {
    text = "is not for delivery";
  }
  return text + (attempts > 1 ? " (attempt " + std::to_string(attempts) + ')' : "");
}

/// Where a message is now, as a sentence.
std::string message_sentence(const json::object& message) {
  const std::string disposition = raw_text_of(message, "disposition");
  const std::string request = text_of(message, "request_id");
  if (disposition == "chat") return delivery_sentence(message);
  if (disposition == "control") return "is a control message" + (request.empty() ? "" : " of request " + request);
  if (disposition == "status") {
    const bool shown = raw_text_of(message, "delivery") != "none";
    return "changed the worker's state" + (shown ? " and " + delivery_sentence(message) : "");
  }
  if (disposition == "duplicate") return "repeats one that is known already";
  const std::string reason = text_of(message, "reason") + " (" + text_of(message, "code") + ')';
  return disposition == "bad" ? "could not be read: " + reason : "was not obeyed: " + reason;
}

/// Where an ask is now, as a sentence, and whether the worker has its answer.
std::string request_sentence(const json::object& request) {
  const std::string state = text_of(request, "state");
  std::string text = "is " + state;
  if (state == "pending") {
    text += ": waits for a person, denied in " + span_text(number_of(request, "deadline_ms") - now_ms());
  } else {
    if (const std::string by = text_of(request, "decided_by"); !by.empty()) text += " by " + by;
    if (const std::string rule = text_of(request, "rule"); !rule.empty()) text += " (" + rule + ')';
    if (const long long at = number_of(request, "decided_ms"); at != 0) text += ' ' + ago(at);
  }
  if (const std::string reason = text_of(request, "reason"); !reason.empty()) text += ": " + reason;
  return text;
}

std::string effect_sentence(const json::object& effect) {
  const std::string problem = text_of(effect, "last_problem");
  const long long attempts = number_of(effect, "attempts");
  return "    answer to " + text_of(effect, "inbox") + ": " + text_of(effect, "state") +
         (attempts > 1 ? ", attempt " + std::to_string(attempts) : "") +
         (problem.empty() ? "" : ", last problem: " + problem) + '\n';
}

std::string trace_text(const Console& console, const json::object& answer) {
  std::string text;
  for (const json::object* message : objects_of(answer, "messages")) {
    const std::string type = text_of(*message, "type");
    text += console.bold("message " + text_of(*message, "message_key")) + '\n' + "  " +
            (type.empty() ? "" : type + ' ') + "from " + text_of(*message, "sender") + " to " +
            text_of(*message, "inbox") + ", team " + text_of(*message, "team") + ", found " +
            ago(number_of(*message, "received_ms")) + "\n  it " + message_sentence(*message) + '\n';
  }
  for (const json::object* request : objects_of(answer, "requests")) {
    text += console.bold(text_of(*request, "kind") + ' ' + text_of(*request, "request_id")) + "\n  " +
            text_of(*request, "asker") + ", team " + text_of(*request, "team") + ", about " +
            text_of(*request, "subject") + "\n  it " + request_sentence(*request) + '\n';
    for (const json::object* effect : objects_of(*request, "effects")) text += effect_sentence(*effect);
  }
  std::vector<Row> rows;
  for (const json::object* event : objects_of(answer, "history"))
    rows.push_back({time_text(number_of(*event, "at_ms")), text_of(*event, "event"), text_of(*event, "detail")});
  return text + (rows.empty() ? "" : "\n" + table(rows, "  "));
}

ExitCode trace(Context& context, const std::string& id) {
  const Result<json::object> answer = context.ask("trace", {{"id", id}});
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(*answer);
  return context.print(trace_text(context.console, *answer));
}

ExitCode quarantine(Context& context, long long limit) {
  const Result<json::object> answer = context.ask("quarantine", {{"limit", limit}});
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(*answer);

  std::string text;
  std::vector<Row> rows{{"WHEN", "TEAM", "INBOX", "FROM", "TYPE", "KEY", "WHY"}};
  for (const json::object* entry : objects_of(*answer, "entries"))
    rows.push_back({ago(number_of(*entry, "received_ms")), text_of(*entry, "team"), text_of(*entry, "inbox"),
                    text_of(*entry, "sender"), text_of(*entry, "type"), text_of(*entry, "message_key"),
                    text_of(*entry, "reason") + " (" + text_of(*entry, "code") + ')'});
  if (rows.size() > 1)
    text += context.console.bold("entries that were not obeyed") +
            "; their bytes are in the ledger: --json shows them as \"entry\"\n" + table(rows, "  ");
  std::vector<Row> files{{"WHEN", "BYTES", "COPY"}};
  for (const json::object* file : objects_of(*answer, "files"))
    files.push_back(
        {ago(number_of(*file, "modified_ms")), std::to_string(number_of(*file, "size")), text_of(*file, "path")});
  if (files.size() > 1)
    text += (text.empty() ? "" : "\n") + context.console.bold("copies of files that could not be read") +
            "; the files themselves were left alone\n" + table(files, "  ");
  return context.print(text.empty() ? "the quarantine is empty\n" : text);
}

}  // namespace

void add_trace(CLI::App& app, Context& context) {
  auto id = std::make_shared<std::string>();
  CLI::App* command =
      add_command(app, "trace", "Tell the whole life of a message or an ask",
                  "Where it is now, and everything that happened to it, in order. Takes a message key, the beginning\n"
                  "of one, or a request id.\n\n"
                  "Examples:\n"
                  "  inbox-poller trace perm-17\n"
                  "  inbox-poller trace 0f3a9c21");
  command->add_option("ID", *id, "A message key, the beginning of one, or a request id")->required();
  command->callback([id, &context] { context.exit_code = trace(context, *id); });
}

void add_quarantine(CLI::App& app, Context& context) {
  auto limit = std::make_shared<long long>(200);
  CLI::App* command = add_command(
      app, "quarantine", "Show what was refused or could not be read, why, and where the bytes are",
      "Entries that were not obeyed (a stranger's, a control message from the wrong side, broken ones), the\n"
      "newest first, and copies of inbox files that could not be read for several polls.\n\n"
      "Examples:\n"
      "  inbox-poller quarantine\n"
      "  inbox-poller quarantine --json | jq -r '.entries[0].entry'");
  command->add_option("--limit", *limit, "At most so many entries")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000).description(""));
  command->callback([limit, &context] { context.exit_code = quarantine(context, *limit); });
}

}  // namespace inbox_poller::poller::cli
