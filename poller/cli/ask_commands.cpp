// `pending` (also with --watch), `approve` and `deny`: the person's side of an ask.
#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <set>
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
  return text + ", " + end + " unless answered:\n" + "    inbox-poller approve" + printable(command + ' ' + word) +
         '\n' + "    inbox-poller deny" + printable(command + " --reason 'TEXT' " + word) + '\n';
}

struct PendingOptions {
  bool watch = false;
  bool list = false;
  std::string asker;
  std::string kind;
  std::optional<config::Duration> since;
};

std::string id_of(const json::object& ask) {
  const std::string key = raw_text_of(ask, "message_key");  // the lead's own prompts have none
  return key.empty() ? raw_text_of(ask, "request_id") : key;
}

/// Beginnings of keys by which each of `asks` can be answered, all as long as the longest has to be.
std::size_t short_id_length(const std::vector<const json::object*>& asks) {
  std::size_t length = 8;
  std::vector<std::string> ids;
  for (const json::object* ask : asks) ids.push_back(id_of(*ask));
  std::sort(ids.begin(), ids.end());
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const auto same = std::mismatch(ids[i - 1].begin(), ids[i - 1].end(), ids[i].begin(), ids[i].end());
    length = std::max(length, static_cast<std::size_t>(same.second - ids[i].begin()) + 1);
  }
  return length;
}

std::string short_id(const json::object& ask, std::size_t length) {
  const std::string id = id_of(ask);
  return printable(raw_text_of(ask, "message_key").empty() ? id : id.substr(0, length));
}

/// One line each.
std::string ask_list(const Context& context, const std::vector<const json::object*>& asks, std::size_t id_length) {
  std::vector<Row> rows{{"ID", "AGE", "TEAM", "ASKER", "KIND", "SUBJECT"}};
  for (const json::object* ask : asks)
    rows.push_back({short_id(*ask, id_length), span_text(now_ms() - number_of(*ask, "asked_ms")), text_of(*ask, "team"),
                    text_of(*ask, "asker"), text_of(*ask, "kind"), text_of(*ask, "subject")});
  return list(rows, context.console.columns());
}

ExitCode pending(Context& context, const PendingOptions& options) {
  const Result<json::object> answer = context.ask("pending");
  if (!answer) return context.fail(answer.error());
  const auto all = objects_of(*answer, "asks");
  auto asks = all;
  const long long since = options.since ? now_ms() - options.since->count() : 0;
  std::erase_if(asks, [&](const json::object* ask) {
    return (!options.asker.empty() && raw_text_of(*ask, "asker") != options.asker) ||
           (!options.kind.empty() && raw_text_of(*ask, "kind") != options.kind) || number_of(*ask, "asked_ms") < since;
  });
  std::stable_sort(asks.begin(), asks.end(), [](const json::object* a, const json::object* b) {
    return number_of(*a, "asked_ms") < number_of(*b, "asked_ms");
  });
  const auto id_length = short_id_length(all);
  if (context.json) {
    json::array chosen;
    for (const json::object* ask : asks) {
      chosen.push_back(*ask);
      if (options.list) chosen.back().as_object()["short_id"] = short_id(*ask, id_length);
    }
    json::object all_of_it = *answer;
    all_of_it["asks"] = std::move(chosen);
    return context.print_json(all_of_it);
  }
  if (asks.empty())
    return context.print(all.empty() ? "nothing is waiting for an answer\n"
                                     : "no open ask fits; without conditions " + std::to_string(all.size()) + " do\n");
  if (options.list) return context.print(ask_list(context, asks, id_length));
  std::string text;
  for (const json::object* ask : asks) text += (text.empty() ? "" : "\n") + card(context, *ask, all);
  return context.print(context.console.fit(text));
}

struct AnswerOptions {
  std::vector<std::string> ids;
  std::string like;
  bool yes = false;
  std::string kind;
  std::string by;  // empty: the user's name
  bool always = false;
  std::string mode;
  std::string input;
  std::string note;
  std::string reason;
};

/// What is said with each answer.
json::object words_of(const AnswerOptions& options) {
  json::object request{{"by", options.by.empty() ? user_name() : options.by}};
  if (options.always) request["always"] = true;
  if (!options.mode.empty()) request["mode"] = options.mode;
  if (!options.input.empty()) request["input"] = options.input;
  if (!options.note.empty()) request["note"] = options.note;
  if (!options.reason.empty()) request["reason"] = options.reason;
  return request;
}

std::string answered(const json::object& taken) {
  std::string text = text_of(taken, "state") + ": " + text_of(taken, "kind") + ' ' + text_of(taken, "request_id") +
                     " of " + text_of(taken, "asker") + " (" + text_of(taken, "subject") + "), team " +
                     text_of(taken, "team") + '\n';
  if (const std::string rule = text_of(taken, "rule_added"); !rule.empty())
    text += "from now on in this session: " + rule + '\n';
  return text + answered_by_rules(taken);
}

/// Each of these as it was shown: another ask under the same id is not answered.
ExitCode answer_each(Context& context, ControlClient& client, std::string_view verb, const AnswerOptions& options,
                     const std::vector<const json::object*>& asks) {
  json::array answers;
  std::string text;
  std::size_t failed = 0;
  std::set<std::string> by_rule;
  for (const json::object* ask : asks) {
    json::object request = words_of(options);
    for (const char* name : {"team", "kind", "message_key"})
      if (const std::string value = raw_text_of(*ask, name); !value.empty()) request[name] = value;
    request["id"] = raw_text_of(*ask, "request_id");
    if (by_rule.contains(ask_name(*ask) + raw_text_of(*ask, "team"))) continue;  // one of those before has added it
    const Result<json::object> taken = context.ask(client, verb, std::move(request));
    if (taken) {
      text += answered(*taken);
      answers.push_back(*taken);
      for (const json::object* one : objects_of(*taken, "answered"))
        if (raw_text_of(*one, "state") == "approved") by_rule.insert(ask_name(*one) + raw_text_of(*one, "team"));
      continue;
    }
    ++failed;
    text += "not answered: " + ask_name(*ask) + ": " + printable(taken.error().message) + '\n';
    answers.push_back(json::object{{"ok", false},
                                   {"team", raw_text_of(*ask, "team")},
                                   {"kind", raw_text_of(*ask, "kind")},
                                   {"request_id", raw_text_of(*ask, "request_id")},
                                   {"code", taken.error().code},
                                   {"message", taken.error().message}});
  }
  text += std::to_string(asks.size() - failed) + " of " + std::to_string(asks.size()) + " answered\n";
  const ExitCode printed =
      context.json ? context.print_json({{"ok", failed == 0}, {"answers", std::move(answers)}}) : context.print(text);
  return failed == 0 ? printed : ExitCode::failed;
}

ExitCode answer_many(Context& context, std::string_view verb, const AnswerOptions& options) {
  auto client = context.connect();
  if (!client) return context.fail(client.error());
  json::object request;
  if (options.like.empty())
    request["ids"] = json::array(options.ids.begin(), options.ids.end());
  else
    request["like"] = options.like;
  if (!options.kind.empty()) request["kind"] = options.kind;
  const Result<json::object> which = context.ask(*client, "which", std::move(request));
  if (!which) return context.fail(which.error());
  const auto asks = objects_of(*which, "asks");
  if (!options.like.empty()) {
    const std::string shown = std::to_string(asks.size()) + " open asks are covered by " + text_of(*which, "rule") +
                              "\n" + ask_list(context, asks, short_id_length(asks));
    if (!context.json) {
      if (const ExitCode printed = context.print(shown); printed != ExitCode::done) return printed;
    }
    if (asks.empty() && context.json) context.print_json({{"ok", true}, {"answers", json::array()}});
    if (asks.empty()) return ExitCode::nothing;
    const std::string question = std::string(verb) + " these " + std::to_string(asks.size()) + "?";
    if (!options.yes && !context.console.confirm(question)) {
      context.fail({"answer.unconfirmed", "nothing was answered; --yes answers without the question"});
      return ExitCode::usage;
    }
  }
  return answer_each(context, *client, verb, options, asks);
}

ExitCode answer(Context& context, std::string_view verb, const AnswerOptions& options) {
  if (options.ids.empty() == options.like.empty())
    throw CLI::ValidationError("say which: the IDs of asks, or --like with one");
  const bool many = options.ids.size() != 1;
  if (many && !(options.mode.empty() && options.input.empty()))
    throw CLI::ValidationError("--mode and --input are for one ask, named by its id");
  if (options.always && !options.like.empty())
    throw CLI::ValidationError(
        "--always and --like do not go together: --like answers what is open now, --always adds a rule");
  if (many) return answer_many(context, verb, options);
  json::object request = words_of(options);
  request["id"] = options.ids.front();
  if (!options.kind.empty()) request["kind"] = options.kind;
  const Result<json::object> taken = context.ask(verb, std::move(request));
  if (!taken) return context.fail(taken.error());
  return context.json ? context.print_json(*taken) : context.print(answered(*taken));
}

/// Which asks, and who answers them.
void add_ask(CLI::App& command, AnswerOptions& options) {
  command.add_option("ID", options.ids,
                     "Request ids, or keys of their messages; of open asks a beginning of 4 characters or more");
  command
      .add_option("--like", options.like,
                  "All open asks that the rule which --always would make from this one covers; shown before")
      ->type_name("ID");
  command.add_flag("--yes", options.yes, "With --like: without the question");
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
          "--list shows one line each, the oldest first: an ID that approve and deny take, and the subject (see\n"
          "`inbox-poller decisions --help`), cut to the terminal. --asker, --kind, --since and --team choose.\n\n"
          "Examples:\n"
          "  inbox-poller pending\n"
          "  inbox-poller pending --list --asker ada --since 10min\n"
          "  inbox-poller pending --watch\n"
          "  inbox-poller pending --json | jq -r '.asks[].request_id'");
  auto options = std::make_shared<PendingOptions>();
  command.add_flag("--watch", options->watch, "Stay on the terminal and take answers by key");
  command.add_flag("--list", options->list, "One line each")->excludes("--watch");
  command.add_option("--asker", options->asker, "Only those of this worker")->type_name("NAME")->excludes("--watch");
  command.add_option("--kind", options->kind, "Only those of this kind: permission, sandbox, plan, stop")
      ->type_name("KIND")
      ->excludes("--watch")
      ->check(CLI::IsMember({"permission", "sandbox", "plan", "stop"}).description(""));
  add_duration(command, "--since", options->since, "Only those of the last so long, such as 10min")
      ->excludes("--watch");
  command.callback(
      [options, &context] { context.exit_code = options->watch ? watch(context) : pending(context, *options); });
}

void declare_approve(CLI::App& command, Context& context) {
  auto options = std::make_shared<AnswerOptions>();
  explain(command,
          "Answers asks with yes. The first answer is final: if a rule, the deadline or somebody else was\n"
          "faster, you are told so. --always also adds the narrowest rule that covers exactly this ask, for as\n"
          "long as the session lasts; where no safe rule exists, nothing is approved and you are told why.\n\n"
          "Several asks are answered one after the other, those that are open when all of the ids are certain: where\n"
          "one is not, the candidates are named and nothing is answered. --like ID answers all open asks that the\n"
          "rule of `--always` would cover, after showing them; what comes in later is not answered.\n\n"
          "Examples:\n"
          "  inbox-poller approve perm-17\n"
          "  inbox-poller approve 3f9a1c02 77b0e4d1 plan-3\n"
          "  inbox-poller approve perm-17 --always\n"
          "  inbox-poller approve --like perm-17\n"
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
          "Answers asks with no. The reason goes to the worker, which reads it as advice: say what to do instead.\n"
          "Several ids, beginnings of ids and --like are as in `inbox-poller approve --help`.\n\n"
          "Examples:\n"
          "  inbox-poller deny --like perm-17 --reason 'not on a Friday'\n"
          "  inbox-poller deny perm-17 --reason 'do not push; open a pull request'");
  add_ask(command, *options);
  command.add_option("--reason", options->reason, "What the worker is told")->type_name("TEXT")->required();
  command.callback([options, &context] { context.exit_code = answer(context, "deny", *options); });
}

}  // namespace inbox_poller::poller::cli
