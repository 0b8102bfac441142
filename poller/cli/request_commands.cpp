// Commands for a person's decisions on approval requests: `pending` (also with --watch), `approve`, `deny`.
#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/request_card.hpp"
#include "poller/cli/top/top_command.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

/// Warns of requests that were denied because their workers had used the ids before.
std::string reused_text(const operations::Pending& answer) {
  std::string text;
  for (const auto& one : answer.reused_ids)
    text += "\nWARNING: " + printable(one.reason) + "\n    inbox-poller trace " + printable(one.message_key) + '\n';
  return text;
}

/// Formats a request and the commands that decide it. Worker or kind are named if others of `requests` have the same
/// id.
std::string card(const Context& context, const operations::OpenRequest& request,
                 const std::vector<operations::OpenRequest>& requests) {
  const std::string id = request.request_id.bytes;
  std::string command = " --team " + shell_word(request.team.bytes);
  if (!context.socket.empty()) command += " --socket " + shell_word(context.socket);
  const auto same_id = [&](const auto& other) {
    return other.team == request.team && other.request_id == request.request_id;
  };
  const auto alike = std::ranges::count_if(requests, same_id);
  const auto of_member = std::ranges::count_if(
      requests, [&](const auto& other) { return same_id(other) && other.member == request.member; });
  if (of_member > 1) command += " --kind " + shell_word(request.kind.bytes);
  const std::string name = (alike > of_member ? request.member.bytes + '/' : "") + id;
  const long long deadline = request.deadline_ms;
  const std::string end = deadline == 0 ? "waits for the lead that reads this inbox"  // role interceptor or observer
                                        : "denied in " + context.console.loud(span_text(deadline - now_ms()));
  const std::string word = (name.starts_with('-') ? "-- " : "") + shell_word(name);
  const std::string text = context.console.bold(request_name(request)) + request_text(request, ago(request.asked_ms));
  if (!can_be_answered(request)) return text + '\n';
  return text + ", " + end + " unless answered:\n" + "    inbox-poller approve" + printable(command + ' ' + word) +
         '\n' + "    inbox-poller deny" + printable(command + " --reason 'TEXT' " + word) + '\n';
}

struct PendingOptions {
  bool watch = false;
  bool list = false;
  std::string member;
  std::string kind;
  std::optional<config::Duration> since;
};

const std::string& id_of(const operations::OpenRequest& request) {
  return request.message_key.empty() ? request.request_id.bytes
                                     : request.message_key.bytes;  // empty for the lead's own prompts
}

/// Length of the key prefixes, the same for all, by which each of `requests` can be named.
std::size_t short_id_length(const std::vector<operations::OpenRequest>& requests) {
  std::size_t length = 8;
  std::vector<std::string> ids;
  for (const auto& request : requests) ids.push_back(id_of(request));
  std::sort(ids.begin(), ids.end());
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const auto same = std::mismatch(ids[i - 1].begin(), ids[i - 1].end(), ids[i].begin(), ids[i].end());
    length = std::max(length, static_cast<std::size_t>(same.second - ids[i].begin()) + 1);
  }
  return length;
}

std::string short_id(const operations::OpenRequest& request, std::size_t length) {
  const std::string id = id_of(request);
  return printable(request.message_key.empty() ? id : id.substr(0, length));
}

/// Formats the requests, a line each.
std::string request_list(const Context& context, const std::vector<const operations::OpenRequest*>& requests,
                         std::size_t id_length) {
  std::vector<Row> rows{{"KEY", "AGE", "TEAM", "MEMBER", "KIND", "SUBJECT"}};
  for (const auto* request : requests)
    rows.push_back({short_id(*request, id_length), span_text(now_ms() - request->asked_ms), printable(request->team),
                    printable(request->member), printable(request->kind), printable(request->subject)});
  return list(rows, context.console.columns());
}

/// Returns the filter of the options; "since" counts back from now.
std::function<bool(const operations::OpenRequest&)> chosen_by(const PendingOptions& options) {
  const long long since = options.since ? now_ms() - options.since->count() : 0;
  return [member = options.member, kind = options.kind, since](const operations::OpenRequest& request) {
    return (member.empty() || request.member == member) && (kind.empty() || request.kind == kind) &&
           request.asked_ms >= since;
  };
}

/// Names the teams whose requests wait on another node, the leader; empty when there are none.
std::string led_elsewhere(Context& context) {
  std::string text;
  const auto status = context.ask(arguments::Status());
  if (!status) return text;
  for (const auto& team : status->teams)
    if (team.role == "follower" || team.role == "standby")
      text += " here; requests of team " + printable(team.team) + " wait on the node that leads (" +
              printable(team.role_reason) + ')';
  return text;
}

std::string nothing_fits(const PendingOptions& options, const std::vector<operations::OpenRequest>& all) {
  std::vector<std::string> members;
  for (const auto& request : all) members.push_back(request.member.bytes);
  const bool is_there = options.member.empty() || std::ranges::find(members, options.member) != members.end();
  return "no open request fits" + (is_there ? "" : printable(schema::did_you_mean(options.member, members))) +
         "; without conditions " + (all.size() == 1 ? "1 does" : std::to_string(all.size()) + " do") + '\n';
}

ExitCode pending(Context& context, const PendingOptions& options) {
  if (options.watch) return stay_at_terminal(context, {.by = {}, .wants = chosen_by(options)});
  const Result<json::object> answer = context.ask_raw(arguments::Pending());
  if (!answer) return context.fail(answer.error());
  const auto open = operations::decode<operations::Pending>(*answer);
  const auto& all = open.requests;
  std::vector<const operations::OpenRequest*> requests;
  for (const auto wants = chosen_by(options); const auto& request : all)
    if (wants(request)) requests.push_back(&request);
  std::ranges::stable_sort(requests, {}, &operations::OpenRequest::asked_ms);
  const auto id_length = short_id_length(all);
  if (context.json) {
    const auto as_they_came = objects_of(*answer, "requests");
    json::array chosen;
    for (const auto* request : requests) {
      chosen.push_back(*as_they_came[static_cast<std::size_t>(request - all.data())]);
      if (options.list) chosen.back().as_object()["short_id"] = short_id(*request, id_length);
    }
    json::object all_of_it = *answer;
    all_of_it["requests"] = std::move(chosen);
    return context.print_json(with_values(std::move(all_of_it), "requests"));
  }
  if (requests.empty())
    return context.print((all.empty() ? "nothing is waiting for an answer" + led_elsewhere(context) + '\n'
                                      : nothing_fits(options, all)) +
                         context.console.fit(reused_text(open)));
  if (options.list)
    return context.print(request_list(context, requests, id_length) + context.console.fit(reused_text(open)));
  std::string text;
  for (const auto* request : requests) text += (text.empty() ? "" : "\n") + card(context, *request, all);
  text += reused_text(open);
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

void say(arguments::Approve& answer, const AnswerOptions& options) {
  answer.always = options.always;
  answer.mode = options.mode;
  answer.input = options.input;
  answer.note = options.note;
}
void say(arguments::Deny& answer, const AnswerOptions& options) { answer.reason = options.reason; }

std::string answered(const operations::Outcome& taken) {
  std::string text = printable(taken.state) + ": " + request_name(taken) + " of " + printable(taken.member) + " (" +
                     printable(taken.subject) + "), team " + printable(taken.team) + '\n';
  if (taken.rule_added) text += "from now on in this session: " + printable(taken.rule_added) + '\n';
  return text;
}

/// Finds the requests that `--similar-to` covers, shows them, and asks for confirmation. Error: "answer.unconfirmed".
template <class Verdict>
Result<std::vector<Verdict>> requests_like(Context& context, ControlClient& client, const Verdict& answer,
                                           const AnswerOptions& options) {
  TRY(const auto meant, context.ask(client, arguments::Resolve{.like = options.like, .kind = options.kind}));
  std::vector<const operations::OpenRequest*> requests;
  for (const auto& request : meant.requests) requests.push_back(&request);
  const std::string shown = std::to_string(requests.size()) +
                            (requests.size() == 1 ? " open request is covered by " : " open requests are covered by ") +
                            printable(meant.rule) + "\n" +
                            request_list(context, requests, short_id_length(meant.requests));
  if (!context.json) static_cast<void>(context.print(shown));
  const std::string question = std::string(Verdict::verb) + " these " + std::to_string(requests.size()) + "?";
  if (!requests.empty() && !options.yes && !context.console.confirm(question))
    return Error{"answer.unconfirmed", "nothing was answered; --yes answers without the question"};
  return answers_to(requests, answer);
}

/// Prints the outcome of each decision, with --json as received.
ExitCode tell(Context& context, const json::object& outcome) {
  const auto outcomes = operations::decode<operations::Outcomes>(outcome);
  const auto& answers = outcomes.answers;
  const auto failed = std::ranges::count(answers, false, &operations::Outcome::ok);
  if (answers.size() == 1 && failed == 1)
    return context.fail({answers.front().code.value_or("").bytes, answers.front().message.value_or("").bytes});
  std::string text;
  for (const auto& one : answers)
    text += one.ok ? answered(one) : "not answered: " + request_name(one) + ": " + printable(one.message) + '\n';
  if (outcomes.answered) text += answered_by_rules(*outcomes.answered);
  if (answers.size() > 1)
    text += std::to_string(answers.size() - static_cast<std::size_t>(failed)) + " of " + std::to_string(answers.size()) +
            " answered\n";
  const ExitCode printed = context.json ? context.print_json(outcome) : context.print(text);
  return failed == 0 ? printed : ExitCode::failed;
}

template <class Verdict>
ExitCode answer(Context& context, const AnswerOptions& options) {
  if (options.ids.empty() == options.like.empty())
    throw CLI::ValidationError("say which: the IDs of requests, or --similar-to with one");
  if (options.ids.size() != 1 && !(options.mode.empty() && options.input.empty()))
    throw CLI::ValidationError("--mode and --input are for one request, named by its id");
  if (options.always && !options.like.empty())
    throw CLI::ValidationError(
        "--always and --similar-to do not go together: --similar-to answers what is open now, --always adds a rule");
  auto client = context.connect();
  if (!client) return context.fail(client.error());
  Verdict given;
  given.by = options.by.empty() ? user_name() : options.by;
  say(given, options);
  std::vector<Verdict> answers;
  if (options.like.empty()) {
    given.ids = options.ids;
    given.kind = options.kind;
    answers.push_back(std::move(given));
  } else {
    auto like = requests_like(context, *client, given, options);
    if (!like) return context.fail(like.error());
    answers = std::move(*like);
  }
  json::object outcome{{"ok", true}, {"answers", json::array()}, {"answered", json::array()}};
  for (const Verdict& one : answers) {
    const Result<json::object> part = context.ask_raw(*client, one);
    if (!part && !outcome["answers"].as_array().empty()) tell(context, outcome);  // the decisions so far
    if (!part) return context.fail(part.error());
    for (const char* list : {"answers", "answered"})
      for (const json::object* row : objects_of(*part, list)) outcome[list].as_array().push_back(*row);
  }
  const ExitCode told = tell(context, outcome);
  return answers.empty() ? ExitCode::not_found : told;
}

constexpr Argument which_requests[] = {
    takes<&AnswerOptions::ids>("ID", "Request ids, or keys of `pending --list`; of an open request 4 characters are enough"),
    takes<&AnswerOptions::like>("--similar-to ID", "All open requests that the rule which --always would make from this one covers; shown before"),
    takes<&AnswerOptions::yes>("--yes", "With --similar-to: without the question"),
    takes<&AnswerOptions::kind>("--kind KIND", "Of several requests with one id, that of this kind: permission, sandbox, plan, stop"),
    takes<&AnswerOptions::by>("--by NAME", "Who answers, for the record (default: your user name); it proves nothing"),
};

// clang-format off
constexpr Argument pending_takes[] = {
    takes<&PendingOptions::watch>("--watch", "Stay on the terminal and take answers by key (see `inbox-poller top --help`)"),
    takes<&PendingOptions::list>("--list", "One line each").excludes("--watch"),
    takes<&PendingOptions::member>("--member,--asker NAME", "Only those of this worker"),
    takes<&PendingOptions::kind>("--kind KIND", "Only those of this kind: permission, sandbox, plan, stop").one_of("permission, sandbox, plan, stop"),
    takes<&PendingOptions::since>("--since DURATION", "Only those of the last so long, such as 10min"),
};
constexpr Argument approve_takes[] = {
    takes<&AnswerOptions::always>("--always", "And the same again in this session, without asking"),
    takes<&AnswerOptions::mode>("--mode MODE", "For a plan: the permission mode to grant"),
    takes<&AnswerOptions::input>("--input JSON", "For a tool: run it with this input instead"),
    takes<&AnswerOptions::note>("--note TEXT", "A message to the worker along with the approval"),
};
constexpr Argument deny_takes[] = {takes<&AnswerOptions::reason>("--reason TEXT", "What the worker is told").required()};

constexpr Command request_rows[] = {
    {.name = arguments::Pending::verb, .group = Group::answer, .summary = "Show the requests that wait for a person, and how to answer them",
     .help = "Each request is shown with all of what an approval would allow: the tool's whole input, the host, the\n"
             "whole plan. Lines behind \"|\" are the worker's own bytes; a description is only its claim.\n"
             "Characters that a terminal would obey or hide are shown as escapes such as \\x1b or <U+202E>.\n\n"
             "--watch stays on the terminal and takes your answers by key: it is the first page of `inbox-poller top`,\n"
             "with the requests that --member, --kind, --since and --team choose.\n\n"
             "--list shows one line each, the oldest first: the KEY of its message, which approve and deny take as they\n"
             "take the request's own id, and the subject (see\n"
             "`inbox-poller decisions --help`), cut to the terminal. --member, --kind, --since and --team choose.",
     .examples = "inbox-poller pending\n"
                 "inbox-poller pending --list --member ada --since 10min\n"
                 "inbox-poller pending --watch\n"
                 "inbox-poller pending --json | jq -r '.requests[].request_id'",
     .arguments = pending_takes, .work = runs<pending>, .prints = operations::shapes<operations::Pending>},
    {.name = arguments::Approve::verb, .group = Group::answer, .summary = "Allow what a worker asks for",
     .help = "Answers requests with yes. The first answer is final: if a rule, the deadline or another person was\n"
             "faster, you are told so. --always also adds the narrowest rule that covers exactly this request, for as\n"
             "long as the session lasts; where no safe rule exists, nothing is approved and you are told why.\n\n"
             "Several requests are answered at once, when all of the ids are certain and open: where one is not, it is\n"
             "named and nothing is answered. --similar-to ID answers all open requests that the rule of `--always` would\n"
             "cover, after showing them; what comes in later is not answered.",
     .examples = "inbox-poller approve perm-17\n"
                 "inbox-poller approve 3f9a1c02 77b0e4d1 plan-3\n"
                 "inbox-poller approve perm-17 --always\n"
                 "inbox-poller approve --similar-to perm-17\n"
                 "inbox-poller approve perm-17 --by team-lead\n"
                 "inbox-poller approve perm-17 --input '{\"command\":\"git push origin main\"}'\n"
                 "inbox-poller approve plan-3 --mode acceptEdits --note 'start with the tests'",
     .shared = which_requests, .arguments = approve_takes, .work = runs<answer<arguments::Approve>>, .prints = operations::shapes<operations::Outcomes>},
    {.name = arguments::Deny::verb, .group = Group::answer, .summary = "Refuse what a worker asks for",
     .help = "Answers requests with no. The reason goes to the worker, which reads it as advice: say what to do instead.\n"
             "Several ids, beginnings of ids and --similar-to are as in `inbox-poller approve --help`.",
     .examples = "inbox-poller deny --similar-to perm-17 --reason 'not on a Friday'\n"
                 "inbox-poller deny perm-17 --reason 'do not push; open a pull request'",
     .shared = which_requests, .arguments = deny_takes, .work = runs<answer<arguments::Deny>>, .prints = operations::shapes<operations::Outcomes>},
};
// clang-format on

}  // namespace

std::span<const Command> request_commands() { return request_rows; }

}  // namespace inbox_poller::poller::cli
