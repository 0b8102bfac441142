// `rules`: lists the rules, tries them on a call, and suggests new ones from people's decisions.
#include <boost/json.hpp>
#include <memory>
#include <optional>

#include "config/rule_advice.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

struct RulesOptions {
  std::optional<std::string> call;  // --try
  std::string tool = "Bash";
  std::string as;
  bool is_host = false;
  bool suggests = false;
  std::optional<config::Duration> since;
};

/// Lists the workers notified of a rule, and why no others are.
std::string told_of(const operations::ToldRule& rule) {
  const std::string told = names_of(rule.told);
  const std::string why = printable(rule.not_told);
  if (why.empty()) return told;
  return (told.empty() ? "no worker" : told + ", now no worker") + (" because of " + why);
}

ExitCode show_rules(Context& context) {
  return context.show(arguments::Rules(), [&](const auto& answer) -> std::string {
    std::vector<Row> rows{{"ACTION", "KIND", "RULE", "FROM", "TOLD"}};
    const std::string source = printable(answer.source);
    for (const auto& rule : answer.session)
      rows.push_back({printable(rule.action), printable(rule.kind), printable(rule.rule),
                      printable(rule.by) + ' ' + ago(rule.at_ms), told_of(rule)});
    for (const auto& rule : answer.configured)
      rows.push_back({printable(rule.action), printable(rule.kind), printable(rule.rule), source, ""});
    if (rows.size() == 1) return "no rules; every request goes to a person (" + source + ")\n";
    return context.console.table(rows, "") +
           context.console.fit("deny goes before ask, ask before allow, whatever their order here\n");
  });
}

/// Returns a call's input with `text` in the member that the tool's rules refer to.
std::string input_of(const std::string& tool, const std::string& text) {
  if (text.starts_with('{')) return text;
  static constexpr std::pair<std::string_view, std::string_view> fields[] = {
      {"Bash", "command"},        {"Read", "file_path"},           {"Edit", "file_path"}, {"Write", "file_path"},
      {"MultiEdit", "file_path"}, {"NotebookEdit", "notebook_path"}, {"Grep", "path"},      {"Glob", "path"},
      {"LS", "path"},             {"WebFetch", "url"},             {"WebSearch", "query"}, {"Agent", "subagent_type"},
      {"Task", "subagent_type"},  {"PowerShell", "command"},       {"Skill", "skill"},     {"SlashCommand", "command"}};
  for (const auto& [name, field] : fields)
    if (name == tool) return json::serialize(json::object{{field, text}});
  return json::serialize(json::object{{"input", text}});
}

/// Describes the outcome for a call or for a part of its command.
std::string outcome_of(const operations::Action& decision, const operations::Text& by,
                       const operations::Text& because) {
  const std::string rule = printable(by);
  const std::string reason = printable(because);
  if (decision == "allow") return "allowed" + (rule.empty() ? ": " + reason : " by " + rule);
  const std::string why = rule.empty() ? ": " + reason : " by " + rule + (reason.empty() ? "" : ": " + reason);
  return (decision == "deny" ? "denied" : "asked") + why;
}

std::string tried_text(const Console& console, const operations::Trial& answer) {
  const std::string as = printable(answer.member);
  const std::string folder = printable(answer.folder);
  const bool is_call = answer.host.empty();
  std::string text = "team " + printable(answer.team) + (as.empty() ? "" : ", as " + as);
  if (is_call) text += folder.empty() ? "; no folder is known, so relative paths never allow" : ", in " + folder;
  text += '\n';
  std::vector<Row> rows;
  for (const auto& part : answer.parts) {
    const bool allowed = part.action == "allow";
    const std::string outcome = outcome_of(part.action, part.rule, part.reason);
    rows.push_back({printable(part.part), allowed ? outcome : console.loud(outcome)});
  }
  if (rows.size() > 1) text += console.table(rows, "  ");
  text += console.bold(outcome_of(answer.decision, answer.rule, answer.reason)) + '\n';
  const std::string decision = answer.decision.bytes;
  const std::string answerer = answer.answerer.bytes;
  if (decision == "ask")
    text += answerer == "lead"   ? "the lead would be asked\n"
            : answerer == "both" ? "the lead and you would be asked\n"
                                 : "you would be asked (inbox-poller pending)\n";
  if (const std::string role = printable(answer.role); role == "observer" || role == "paused")
    text += "our role is " + role + ": nothing is answered by us\n";
  return text + "nothing was decided by this\n";
}

ExitCode try_rules(Context& context, const RulesOptions& options) {
  if (const auto advice = config::why_no_such_tool(options.tool); advice && !context.json)
    context.console.explain("WARNING: " + printable(*advice) + '\n');
  arguments::DryRun request{.member = options.as};
  if (options.is_host) {
    request.host = *options.call;
  } else {
    request.tool = options.tool;
    request.input = input_of(options.tool, *options.call);
  }
  return context.show(request, [&](const auto& answer) {
    return context.console.fit(tried_text(context.console, answer));
  });
}

/// Formats lines for a team file. The text after # contains no line break.
std::string list_text(const std::vector<operations::Suggestion>& suggestions, std::string_view kind,
                      std::string_view section) {
  std::string text;
  for (const auto& one : suggestions) {
    if (one.kind != kind) continue;
    const long long requests = one.requests;
    text += "    " + printable(json::serialize(json::string(one.rule.bytes))) + ",  # " + std::to_string(requests) +
            (requests == 1 ? " request" : " requests") + " of " + names_of(one.members) + ", the last " +
            ago(one.last_ms) + '\n';
  }
  return text.empty() ? text : '[' + std::string(section) + "]\nallow = [\n" + text + "]\n";
}

ExitCode suggest(Context& context, const RulesOptions& options) {
  arguments::SuggestRules request;
  if (options.since) request.since_ms = now_ms() - options.since->count();
  return context.show(request, [&](const auto& answer) -> std::string {
    const auto& suggestions = answer.suggestions;
    const std::string looked = std::to_string(answer.looked_at) + " decisions";
    if (suggestions.empty())
      return "# " + looked + ": no approval of yours that a further rule would have spared you\n";
    long long requests = 0;
    for (const auto& one : suggestions) requests += one.requests;
    return "# " + looked + ": " + std::to_string(requests) +
           (requests == 1 ? " approval of yours would be " : " approvals of yours would be ") +
           std::to_string(suggestions.size()) + (suggestions.size() == 1 ? " rule" : " rules") +
           ", each for exactly what you approved.\n# To be merged into " + printable(answer.source) +
           ", then: inbox-poller check-config && inbox-poller reload\n" +
           list_text(suggestions, "permission", "permissions") + list_text(suggestions, "host", "sandbox");
  });
}

ExitCode rules(Context& context, const RulesOptions& options) {
  if (options.call) return try_rules(context, options);
  return options.suggests ? suggest(context, options) : show_rules(context);
}

// clang-format off
constexpr Argument rules_takes[] = {
    takes<&RulesOptions::call>("--try TEXT", "Say what comes of this call"),
    takes<&RulesOptions::tool>("--tool TOOL", "Its tool, when it is not Bash").needs("--try"),
    takes<&RulesOptions::is_host>("--domain", "It is a network domain").needs("--try").excludes("--tool"),
    takes<&RulesOptions::as>("--worker NAME", "The worker that would ask").needs("--try"),
    takes<&RulesOptions::suggests>("--suggest", "Print rules for what was approved again and again").excludes("--try"),
    takes<&RulesOptions::since>("--since DURATION", "Look at the decisions of so long").needs("--suggest"),
};

constexpr Command rules_rows[] = {
    {.name = arguments::Rules::verb, .group = Group::answer, .summary = "Show the rules in force, and who was told of them",
     .help = "Rules of this session first, with who gave them; then those of the configuration file. KIND is permission\n"
             "or host; `team` is a permission rule that `allow` gave, and that workers were told.\n"
             "--try says what they make of a call without making it: for each part of a command which rule allows,\n"
             "asks about or denies it, and what would come of it. Nothing is decided by it. TEXT is the command; of\n"
             "other tools the path, address or kind of agent; or the whole input as a JSON object. With --domain it is\n"
             "a host that a worker's sandbox would ask for.\n"
             "--suggest prints the rules that your approvals would have been, each for exactly what was approved,\n"
             "as lines for the team's file. What was denied or ran out once is not among them.",
     .examples = "inbox-poller rules\n"
                 "inbox-poller rules --try 'git add . && git push origin main'\n"
                 "inbox-poller rules --try ./src/main.c --tool Edit --worker ada\n"
                 "inbox-poller rules --try api.example.com --domain\n"
                 "inbox-poller rules --suggest --since 7d\n"
                 "inbox-poller rules --json | jq '.session[].rule'",
     .arguments = rules_takes, .work = runs<rules>, .prints = operations::shapes<operations::Rules, operations::Trial, operations::Suggestions>},
};
// clang-format on

}  // namespace

std::span<const Command> rules_commands() { return rules_rows; }

}  // namespace inbox_poller::poller::cli
