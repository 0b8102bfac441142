// `pending` (also with --watch), `approve` and `deny`: the person's side of an ask.
#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "poller/cli/ask_card.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/watch.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

/// One ask, and the commands that answer it; with its kind, where another one of `asks` has the same id.
std::string card(const Context& context, const json::object& ask, const std::vector<const json::object*>& asks) {
  const std::string id = raw_text_of(ask, "request_id");
  std::string command = " --team " + shell_word(raw_text_of(ask, "team"));
  if (!context.socket.empty()) command += " --socket " + shell_word(context.socket);
  const auto same_id = std::count_if(asks.begin(), asks.end(), [&](const json::object* other) {
    return raw_text_of(*other, "team") == raw_text_of(ask, "team") && raw_text_of(*other, "request_id") == id;
  });
  if (same_id > 1) command += " --kind " + shell_word(raw_text_of(ask, "kind"));
  const long long deadline = number_of(ask, "deadline_ms");
  const std::string end = deadline == 0 ? "waits for the lead that reads this inbox"  // in front of it, or watching it
                                        : "denied in " + context.console.loud(span_text(deadline - now_ms()));
  const std::string word = (id.starts_with('-') ? "-- " : "") + shell_word(id);
  const std::string text = context.console.bold(ask_name(ask)) + ask_text(ask, ago(number_of(ask, "asked_ms")));
  if (!can_be_answered(ask)) return text + '\n';
  return text + ", " + end + " unless answered:\n" +
         "    inbox-poller approve" + printable(command + ' ' + word) + '\n' + "    inbox-poller deny" +
         printable(command + " --reason 'TEXT' " + word) + '\n';
}

ExitCode pending(Context& context) {
  return context.show("pending", {}, [&](const json::object& answer) -> std::string {
    std::string text;
    const auto asks = objects_of(answer, "asks");
    for (const json::object* ask : asks) text += (text.empty() ? "" : "\n") + card(context, *ask, asks);
    return text.empty() ? "nothing is waiting for an answer\n" : context.console.fit(text);
  });
}

struct AnswerOptions {
  std::string id;
  std::string kind;
  std::string by;  // empty: the user's name
  bool always = false;
  std::string mode;
  std::string input;
  std::string note;
  std::string reason;
};

ExitCode answer(Context& context, std::string_view verb, const AnswerOptions& options) {
  json::object request{{"id", options.id}, {"by", options.by.empty() ? user_name() : options.by}};
  if (!options.kind.empty()) request["kind"] = options.kind;
  if (options.always) request["always"] = true;
  if (!options.mode.empty()) request["mode"] = options.mode;
  if (!options.input.empty()) request["input"] = options.input;
  if (!options.note.empty()) request["note"] = options.note;
  if (!options.reason.empty()) request["reason"] = options.reason;
  const Result<json::object> taken = context.ask(verb, std::move(request));
  if (!taken) return context.fail(taken.error());
  if (context.json) return context.print_json(*taken);
  std::string text = text_of(*taken, "state") + ": " + text_of(*taken, "kind") + ' ' + text_of(*taken, "request_id") +
                     " of " + text_of(*taken, "asker") + " (" + text_of(*taken, "subject") + "), team " +
                     text_of(*taken, "team") + '\n';
  if (const std::string rule = text_of(*taken, "rule_added"); !rule.empty())
    text += "from now on in this session: " + rule + '\n';
  return context.print(text);
}

/// Which ask, and who answers it.
void add_ask(CLI::App& command, AnswerOptions& options) {
  command.add_option("ID", options.id, "The request id, or the key of its message, in full")->required();
  command
      .add_option("--kind", options.kind,
                  "Of several asks with one id, that of this kind: permission, sandbox, plan, stop")
      ->type_name("KIND");
  command
      .add_option("--by", options.by,
                  "Who answers, for the record (default: your user name); it is no proof: whoever may use the socket "
                  "may write any name")
      ->type_name("NAME");
}

}  // namespace

void declare_pending(CLI::App& command, Context& context) {
  explain(command,
          "Each ask is shown with all of what an approval would allow: the tool's whole input, the host, the\n"
          "whole plan. Lines behind \"|\" are the worker's own bytes; a description is only its claim.\n"
          "Characters that a terminal would obey or hide are shown as escapes such as \\x1b or <U+202E>.\n\n"
          "--watch shows them on the terminal one by one, the oldest first, and takes your answer by key: a\n"
          "approves, A approves and adds the rule that covers it for the session, d denies with a reason, n and\n"
          "p go to the next and the previous one, s shows more of a long one, q leaves. A key holds for the ask\n"
          "that is on the screen, and for no other; keys typed before it was there are thrown away; only what\n"
          "was shown to its end can be approved. A line that begins with \":\" goes on with the one above it.\n\n"
          "Examples:\n"
          "  inbox-poller pending\n"
          "  inbox-poller pending --watch\n"
          "  inbox-poller pending --json | jq -r '.asks[].request_id'");
  auto watches = std::make_shared<bool>(false);
  command.add_flag("--watch", *watches, "Stay on the terminal and take answers by key");
  command.callback([watches, &context] { context.exit_code = *watches ? watch(context) : pending(context); });
}

void declare_approve(CLI::App& command, Context& context) {
  auto options = std::make_shared<AnswerOptions>();
  explain(command,
          "Answers one ask with yes. The first answer is final: if a rule, the deadline or somebody else was\n"
          "faster, you are told so. --always also adds the narrowest rule that covers exactly this ask, for as\n"
          "long as the session lasts; where no safe rule exists, nothing is approved and you are told why.\n\n"
          "Examples:\n"
          "  inbox-poller approve perm-17\n"
          "  inbox-poller approve perm-17 --always\n"
          "  inbox-poller approve perm-17 --by team-lead\n"
          "  inbox-poller approve perm-17 --input '{\"command\":\"git push origin main\"}'\n"
          "  inbox-poller approve plan-3 --mode acceptEdits --note 'start with the tests'");
  add_ask(command, *options);
  command.add_flag("--always", options->always, "And the same again in this session, without asking");
  command.add_option("--mode", options->mode, "For a plan: the permission mode to grant")->type_name("MODE");
  command.add_option("--input", options->input, "For a tool: run it with this input instead")->type_name("JSON");
  command.add_option("--note", options->note, "A message to the worker along with the approval")->type_name("TEXT");
  command.callback([options, &context] { context.exit_code = answer(context, "approve", *options); });
}

void declare_deny(CLI::App& command, Context& context) {
  auto options = std::make_shared<AnswerOptions>();
  explain(command,
          "Answers one ask with no. The reason goes to the worker, which reads it as advice: say what to do\n"
          "instead.\n\n"
          "Example:\n"
          "  inbox-poller deny perm-17 --reason 'do not push; open a pull request'");
  add_ask(command, *options);
  command.add_option("--reason", options->reason, "What the worker is told")->type_name("TEXT")->required();
  command.callback([options, &context] { context.exit_code = answer(context, "deny", *options); });
}

}  // namespace inbox_poller::poller::cli
