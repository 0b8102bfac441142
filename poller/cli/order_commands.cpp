// Commands for workers' permissions and tasks: `mode`, `allow`, `revoke`, `assign`.
#include <algorithm>
#include <cctype>
#include <memory>
#include <span>

#include "config/rule_advice.hpp"
#include "handlers/orders.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/request_card.hpp"

namespace inbox_poller::poller::cli {

namespace {

struct ModeOptions {
  std::string first;  // the worker; with --all the mode
  std::string second;
  bool all = false;
  TeamWait wait;
};

ExitCode mode(Context& context, const ModeOptions& options) {
  if (options.second.empty() != options.all) {
    context.console.complain(options.all ? "with --all say only the mode: inbox-poller mode --all plan"
                                         : "say whose mode and which: inbox-poller mode alice plan");
    return ExitCode::usage;
  }
  arguments::Mode request{.mode = options.all ? options.first : options.second, .by = user_name(), .all = options.all};
  if (!options.all) request.member = options.first;
  const auto words = [&](const operations::ModesSent& answer) -> std::string {
    std::string text;
    for (const auto& one : answer.sent)
      text += printable(one.member) + " is told to work in mode " + printable(one.mode) + '\n';
    if (text.empty()) return "the team has no worker to tell\n";
    return text + "`inbox-poller status` shows later who has not taken it over\n";
  };
  return context.show(request, words, options.wait);
}

struct RuleOptions {
  std::string rule;
  std::string directory;
  bool yes = false;
  TeamWait wait;
};

/// Lists the open permission requests that the rule covers; the team's deny and ask rules may still keep some open.
std::vector<const operations::OpenRequest*> covered_by(const config::PermissionRule& rule,
                                                       const operations::Pending& open) {
  const config::PermissionRules alone{{}, {}, {rule}};
  const std::string home = config::Environment::from_process().home;
  std::vector<const operations::OpenRequest*> covered;
  for (const auto& one : open.requests)
    if (one.kind == "permission" && can_be_answered(one) &&
        config::judge_tool(alone, one.tool.bytes, one.body.bytes, {one.folder.bytes, home}, config::Action::deny)
                .action == config::Action::allow)
      covered.push_back(&one);
  return covered;
}

/// Shows what the rule would answer at once, and asks for confirmation. Errors: "rule.syntax" for a command without its
/// tool, "answer.unconfirmed".
Status confirm_rule(Context& context, const RuleOptions& options) {
  const auto rule = handlers::team_rule(options.rule, options.directory);
  if (!rule) return Done{};  // the daemon refuses it
  if (!rule->specifier && std::islower(static_cast<unsigned char>(rule->tool.front())) != 0 &&
      config::why_no_such_tool(rule->tool))
    return Error{"rule.syntax", "RULE: \"" + rule->tool + "\" is not a tool; for the command write " +
                                    shell_word("Bash(" + rule->tool + " *)")};
  if (options.directory.empty() && !context.json)
    for (const std::string& advice : config::advice_on(*rule, config::Action::allow, {}))
      context.console.explain("WARNING: " + printable(rule->text) + ": " + printable(advice) + '\n');
  if (options.yes) return Done{};
  const auto open = context.ask(arguments::Pending());
  const auto covered = open ? covered_by(*rule, *open) : std::vector<const operations::OpenRequest*>();
  if (covered.empty()) return Done{};
  const std::string count = std::to_string(covered.size()) + (covered.size() == 1 ? " open request" : " open requests");
  std::string text = printable(rule->text) + " covers " + count + ":\n";
  for (const auto* one : std::span(covered).first(std::min(covered.size(), most_listed)))
    text += "  " + request_name(*one) + " of " + printable(one->member) + " (" + printable(one->subject) + ")\n";
  if (covered.size() > most_listed)
    text += "  and " + std::to_string(covered.size() - most_listed) + " more: inbox-poller pending --list\n";
  if (!context.json) context.console.explain(text);
  if (context.console.confirm("allow it, and with it " + count + "?")) return Done{};
  return Error{"answer.unconfirmed", "RULE: it would answer " + count +
                                         " at once; nothing was changed; --yes allows it without the question"};
}

ExitCode allow(Context& context, const RuleOptions& options) {
  if (const Status may = confirm_rule(context, options); !may) return context.fail(may.error());
  const auto words = [&](const operations::Allowed& answer) -> std::string {
    const std::string rule = printable(answer.rule);
    if (!answer.is_new)
      return "the session has this rule already: " + rule + '\n' + answered_by_rules(answer.answered);
    const std::string told = names_of(answer.told);
    std::string text = "from now on in this session: " + rule + '\n';
    if (answer.role == "interceptor")
      text +=
          "it decides what workers ask; they are not told of it, since another lead\nspeaks to them (role interceptor)\n";
    else if (const std::string why = printable(answer.not_told); !why.empty())
      text +=
          "it decides what workers ask, after the deny and ask rules. They are not told\n"
          "of it: one that took it over would no longer request, and " +
          why + ",\nwhich shares calls with it, would no longer hold for it\n";
    else
      text += told.empty() ? "the team has no worker to tell yet; each new worker is told\n"
                           : "told: " + told + "; who joins is told too\n";
    return text + answered_by_rules(answer.answered);
  };
  return context.show(arguments::Allow{options.rule, options.directory, user_name(), {}}, words, options.wait);
}

ExitCode revoke(Context& context, const RuleOptions& options) {
  return context.show(arguments::Revoke{options.rule, user_name(), {}}, [&](const auto& answer) -> std::string {
    const std::string keepers = names_of(answer.keepers);
    std::string text = "no longer allowed by us: " + printable(answer.rule) + '\n';
    if (!keepers.empty())
      text += "these were told of it and may keep it until their sessions end: " + keepers +
              " (to be sure, shut them down and start them again)\n";
    return text;
  });
}

struct AssignOptions {
  std::string task, member;
  TeamWait wait;
};

ExitCode assign(Context& context, const AssignOptions& options) {
  const auto words = [](const operations::Assigned& answer) {
    return "task " + printable(answer.task) + " (" + printable(answer.subject) + ") is " + printable(answer.member) + "'s\n";
  };
  return context.show(arguments::Assign{options.task, options.member, user_name(), {}}, words, options.wait);
}

// clang-format off
constexpr Argument assign_takes[] = {
    takes<&AssignOptions::task>("TASK", "The task's id, as its file is called").required(),
    takes<&AssignOptions::member>("WORKER", "The worker's name").required(),
    takes_team_wait<&AssignOptions::wait>(),
};
constexpr Argument mode_takes[] = {
    takes<&ModeOptions::first>("MEMBER", "The worker's name; left out with --all").required(),
    takes<&ModeOptions::second>("MODE", "The mode"),
    takes<&ModeOptions::all>("--all", "Every worker of the team"),
    takes_team_wait<&ModeOptions::wait>(),
};
constexpr Argument allow_takes[] = {
    takes<&RuleOptions::rule>("RULE", "A permission rule, such as 'Bash(git log:*)'").required(),
    takes<&RuleOptions::directory>("--directory DIR", "Where it holds: an absolute path"),
    takes<&RuleOptions::yes>("--yes", "Answer the open requests that it covers without the question"),
    takes_team_wait<&RuleOptions::wait>(),
};
constexpr Argument revoke_takes[] = {takes<&RuleOptions::rule>("RULE", "The rule as `inbox-poller rules` shows it").required()};

constexpr Command order_rows[] = {
    {.name = arguments::Assign::verb, .group = Group::act, .summary = "Give a task of the team's board to a worker",
     .help = "Makes the worker the task's owner in the team's task list and tells it so, as its own lead would. Not when\n"
             "the task is finished, or a worker who is still there has it. Agents that share a folder claim their tasks\n"
             "themselves: inbox-poller mailbox claim.",
     .examples = "inbox-poller assign 12 alice",
     .arguments = assign_takes, .work = runs<assign>, .prints = operations::shapes<operations::Assigned>},
    {.name = arguments::Mode::verb, .group = Group::act, .summary = "Set the permission mode of a worker, or of all",
     .help = "Sends the mode to the worker's inbox. Modes, from narrow to wide: plan, default, acceptEdits, auto,\n"
             "dontAsk, bypassPermissions; [modes] ceiling bounds what may be set. Older clients take it over at once and\n"
             "show it in the roster. The newest ignore such messages: then `inbox-poller status` says \"not applied\",\n"
             "and the mode has to be set in the worker's own session.",
     .examples = "inbox-poller mode alice plan\n"
                 "inbox-poller mode --all acceptEdits",
     .arguments = mode_takes, .work = runs<mode>, .prints = operations::shapes<operations::ModesSent>},
    {.name = arguments::Allow::verb, .group = Group::answer, .summary = "Allow something to all workers for this session",
     .help = "The rule decides what workers ask from now on, and goes once to each worker, also to one that joins\n"
             "later, so that older clients do not even ask; unless it shares calls with a deny or ask rule, which would\n"
             "then no longer hold for them. It ends with the lead's session; for good, write it under\n"
             "[permissions] allow. With --directory, Read and Edit hold below that directory. Beside another lead (role\n"
             "interceptor) the rule decides here, and workers are not told.\n\n"
             "The rule also answers open requests that it covers. They are shown, and you are asked before. Without a\n"
             "terminal nothing changes then, unless you give --yes.",
     .examples = "inbox-poller allow 'Bash(make test:*)'\n"
                 "inbox-poller allow Edit --directory /home/me/project",
     .arguments = allow_takes, .work = runs<allow>, .prints = operations::shapes<operations::Allowed>},
    {.name = arguments::Revoke::verb, .group = Group::answer, .summary = "Take a rule of this session back",
     .help = "For rules that `allow`, `approve --always` or an answered host gave the session, written as `rules` shows\n"
             "them. It no longer decides here. A worker that was told of it may keep it until its own session ends:\n"
             "no message takes a rule back, so those workers are named.",
     .examples = "inbox-poller revoke 'Bash(make test:*)'",
     .arguments = revoke_takes, .work = runs<revoke>, .prints = operations::shapes<operations::Revoked>},
};
// clang-format on

}  // namespace

std::span<const Command> order_commands() { return order_rows; }

}  // namespace inbox_poller::poller::cli
