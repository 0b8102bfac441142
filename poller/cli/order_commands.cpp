// `mode`, `allow`, `revoke` and `rules`: what workers may do, and what they are told of it.
#include <boost/json.hpp>
#include <memory>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

struct ModeOptions {
  std::string first;  // the worker; with --all the mode
  std::string second;
  bool all = false;
};

ExitCode mode(Context& context, const ModeOptions& options) {
  if (options.second.empty() != options.all) {
    context.console.complain(options.all ? "with --all say only the mode: inbox-poller mode --all plan"
                                         : "say whose mode and which: inbox-poller mode alice plan");
    return ExitCode::usage;
  }
  json::object request{{"mode", options.all ? options.first : options.second}, {"by", user_name()}};
  if (options.all)
    request["all"] = true;
  else
    request["member"] = options.first;
  const Result<json::object> answer = context.ask("mode", std::move(request));
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(*answer);
  std::string text;
  for (const json::object* one : objects_of(*answer, "sent"))
    text += text_of(*one, "to") + " is told to work in mode " + text_of(*one, "mode") + '\n';
  if (text.empty()) return context.print("there is no worker to tell\n");
  return context.print(text + "`inbox-poller status` shows who took it over\n");
}

struct RuleOptions {
  std::string rule;
  std::string directory;
};

ExitCode allow(Context& context, const RuleOptions& options) {
  json::object request{{"rule", options.rule}, {"by", user_name()}};
  if (!options.directory.empty()) request["directory"] = options.directory;
  const Result<json::object> answer = context.ask("allow", std::move(request));
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(*answer);
  const std::string rule = text_of(*answer, "rule");
  if (!flag_of(*answer, "is_new")) return context.print("the session has this rule already: " + rule + '\n');
  const std::string told = names_of(*answer, "told");
  std::string text = "from now on in this session: " + rule + '\n';
  if (text_of(*answer, "role") == "front")
    text += "it decides what workers ask; they are not told of it, since another lead speaks to them (role front)\n";
  else if (const std::string why = text_of(*answer, "not_told"); !why.empty())
    text +=
        "it decides what workers ask, after the deny and ask rules. They are not told of it: one that took it over\n"
        "would no longer ask, and " +
        why + ", which shares calls with it, would no longer hold for it\n";
  else
    text += told.empty() ? "there is no worker to tell; who joins is told\n"
                         : "told: " + told + "; who joins is told too\n";
  return context.print(text);
}

ExitCode revoke(Context& context, const RuleOptions& options) {
  const Result<json::object> answer = context.ask("revoke", {{"rule", options.rule}, {"by", user_name()}});
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(*answer);
  const std::string keepers = names_of(*answer, "keepers");
  std::string text = "no longer allowed by us: " + text_of(*answer, "rule") + '\n';
  if (!keepers.empty())
    text += "these were told of it and may keep it until their sessions end: " + keepers +
            " (to be sure, shut them down and start them anew)\n";
  return context.print(text);
}

/// Who was told of a rule, and why nobody else is.
std::string told_of(const json::object& rule) {
  const std::string told = names_of(rule, "told");
  const std::string why = text_of(rule, "not_told");
  if (why.empty()) return told;
  return (told.empty() ? "nobody" : told + ", now nobody") + (" because of " + why);
}

ExitCode rules(Context& context) {
  const Result<json::object> answer = context.ask("rules");
  if (!answer) return context.fail(answer.error());
  if (context.json) return context.print_json(*answer);
  std::vector<Row> rows{{"ACTION", "KIND", "RULE", "FROM", "TOLD"}};
  const std::string source = text_of(*answer, "source");
  for (const json::object* rule : objects_of(*answer, "session"))
    rows.push_back({text_of(*rule, "action"), text_of(*rule, "kind"), text_of(*rule, "rule"),
                    text_of(*rule, "by") + ' ' + ago(number_of(*rule, "at_ms")), told_of(*rule)});
  for (const json::object* rule : objects_of(*answer, "configured"))
    rows.push_back({text_of(*rule, "action"), text_of(*rule, "kind"), text_of(*rule, "rule"), source, ""});
  if (rows.size() == 1) return context.print("no rules; every ask goes to a person (" + source + ")\n");
  return context.print(table(rows, "") + "deny goes before ask, ask before allow, whatever their order here\n");
}

}  // namespace

void add_mode(CLI::App& app, Context& context) {
  auto options = std::make_shared<ModeOptions>();
  CLI::App* command = add_command(
      app, "mode", "Set the permission mode of a worker, or of all",
      "Sends the mode to the worker's inbox. Modes, from narrow to wide: plan, default, acceptEdits, auto,\n"
      "dontAsk, bypassPermissions; [modes] ceiling bounds what may be set. Older clients take it over at once and\n"
      "show it in the roster. The newest ignore such messages: then `inbox-poller status` says \"not adopted\",\n"
      "and the mode has to be set in the worker's own session.\n\n"
      "Examples:\n"
      "  inbox-poller mode alice plan\n"
      "  inbox-poller mode --all acceptEdits");
  command->add_option("MEMBER", options->first, "The worker's name; left out with --all")->required();
  command->add_option("MODE", options->second, "The mode");
  command->add_flag("--all", options->all, "Every worker of the team");
  command->callback([options, &context] { context.exit_code = mode(context, *options); });
}

void add_allow(CLI::App& app, Context& context) {
  auto options = std::make_shared<RuleOptions>();
  CLI::App* command = add_command(
      app, "allow", "Allow something to all workers for this session",
      "The rule decides what workers ask from now on, and goes once to each worker, also to one that joins\n"
      "later, so that older clients do not even ask; unless it shares calls with a deny or ask rule, which would\n"
      "then no longer hold for them. It ends with the lead's session; for good, write it under\n"
      "[permissions] allow. With --directory, Read and Edit hold below that directory. Beside another lead (role\n"
      "front) the rule decides here, and workers are not told.\n\n"
      "Examples:\n"
      "  inbox-poller allow 'Bash(make test:*)'\n"
      "  inbox-poller allow Edit --directory /home/me/project");
  command->add_option("RULE", options->rule, "A permission rule, such as 'Bash(git log:*)'")->required();
  command->add_option("--directory", options->directory, "Where it holds: an absolute path")->type_name("DIR");
  command->callback([options, &context] { context.exit_code = allow(context, *options); });
}

void add_revoke(CLI::App& app, Context& context) {
  auto options = std::make_shared<RuleOptions>();
  CLI::App* command = add_command(
      app, "revoke", "Take a rule of this session back",
      "For rules that `allow`, `approve --always` or an answered host gave the session, written as `rules` shows\n"
      "them. It no longer decides here. A worker that was told of it may keep it until its own session ends:\n"
      "there is no message that takes a rule back, so those are named.\n\n"
      "Example:\n"
      "  inbox-poller revoke 'Bash(make test:*)'");
  command->add_option("RULE", options->rule, "The rule as `inbox-poller rules` shows it")->required();
  command->callback([options, &context] { context.exit_code = revoke(context, *options); });
}

void add_rules(CLI::App& app, Context& context) {
  CLI::App* command =
      add_command(app, "rules", "Show the rules in force, and who was told of them",
                  "Rules of this session first, with who gave them; then those of the configuration file.\n\n"
                  "Examples:\n"
                  "  inbox-poller rules\n"
                  "  inbox-poller rules --json | jq '.session[].rule'");
  command->callback([&context] { context.exit_code = rules(context); });
}

}  // namespace inbox_poller::poller::cli
