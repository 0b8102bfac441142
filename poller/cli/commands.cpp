// The table of commands, and the way from the words of a command line to one of them.
#include <algorithm>
#include <csignal>
#include <sstream>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "schema/nearest.hpp"
#include "schema/operations/order.hpp"
#include "schema/operations/printed.hpp"
#include "schema/operations/trace.hpp"

namespace inbox_poller::poller::cli {

using Declare = void(CLI::App&, Context&);
Declare declare_ack, declare_allow, declare_approve, declare_assign, declare_box, declare_box_abandon, declare_box_claim,
    declare_box_complete, declare_box_copy, declare_box_heartbeat, declare_box_inbox, declare_box_post, declare_box_recv,
    declare_box_send, declare_box_sweep, declare_box_try_recv, declare_broadcast, declare_check_config, declare_completion,
    declare_decisions, declare_deny, declare_doctor, declare_history, declare_hook, declare_hook_install,
    declare_help, declare_hosts, declare_hosts_acl, declare_hook_uninstall, declare_hook_wait, declare_hook_worker,
    declare_inbox, declare_init, declare_inbox_clear, declare_inbox_list, declare_inbox_mark_read, declare_inbox_send,
    declare_inbox_show, declare_inbox_unread, declare_lead, declare_lead_run, declare_manual, declare_mcp,
    declare_mcp_install, declare_mcp_uninstall, declare_mode, declare_pending, declare_quarantine, declare_recv,
    declare_reload, declare_resume, declare_revoke, declare_rules, declare_run, declare_send, declare_shutdown,
    declare_shutdowns, declare_status, declare_tasks, declare_tasks_requeue, declare_tasks_show, declare_trace,
    declare_top, declare_wait, declare_metrics, declare_web;

namespace {

namespace ops = operations;  // what they print

// clang-format off
constexpr Command all_commands[] = {
    {"top", Group::answer, "Stay on the terminal: asks and their answers by key, teams, workers, chat", declare_top},
    {"pending", Group::answer, "Show the asks that wait for a person, whole, and how to answer them", declare_pending, ops::shapes<ops::Pending>},
    {"approve", Group::answer, "Allow what a worker asks for", declare_approve, ops::shapes<ops::Outcomes>},
    {"deny", Group::answer, "Refuse what a worker asks for", declare_deny, ops::shapes<ops::Outcomes>},
    {"allow", Group::answer, "Allow something to all workers for this session", declare_allow, ops::shapes<ops::Allowed>},
    {"revoke", Group::answer, "Take a rule of this session back", declare_revoke, ops::shapes<ops::Revoked>},
    {"rules", Group::answer, "Show the rules in force, and who was told of them", declare_rules, ops::shapes<ops::Rules, ops::Trial, ops::Suggestions>},

    {"status", Group::look, "Show the teams, their workers, and what is waiting", declare_status, ops::shapes<ops::Status, ops::ShortStatus>},
    {"wait", Group::look, "Wait until the workers are idle or gone, mail has come, or no ask is open", declare_wait, ops::shapes<ops::Waited>},
    {"trace", Group::look, "Tell the whole life of a message, an ask or a shutdown", declare_trace, ops::shapes<ops::Trace>},
    {"decisions", Group::look, "Show who decided which ask, when, and by which rule", declare_decisions, ops::shapes<ops::Decisions>},
    {"history", Group::look, "Show received messages, also those that have left the lead's inbox", declare_history, ops::shapes<ops::History>},
    {"quarantine", Group::look, "Show what was refused or could not be read, why, and where the bytes are", declare_quarantine, ops::shapes<ops::Quarantine>},
    {"shutdowns", Group::look, "Show who was asked to end, and how far that is", declare_shutdowns, ops::shapes<ops::Shutdowns>},
    {"metrics", Group::look, "Print what is going on as OpenMetrics text, for Prometheus", declare_metrics, ops::shapes<ops::Metrics>},
    {"web", Group::look, "Serve a page on which asks are seen and answered, and the rest is looked at", declare_web},
    {"hosts", Group::look, "Show the hosts of a team: who leads, who was heard of, where mail waits", declare_hosts, ops::shapes<ops::Status>},
    {"doctor", Group::look, "Examine the whole installation, and say what mends it", declare_doctor, ops::shapes<ops::Doctor, ops::QuickDoctor>},

    {"send", Group::act, "Send a message to one worker", declare_send, ops::shapes<ops::Sent>},
    {"broadcast", Group::act, "Send a message to every worker", declare_broadcast, ops::shapes<ops::Broadcast>},
    {"assign", Group::act, "Give a task of the team's board to a worker", declare_assign, ops::shapes<ops::Assigned>},
    {"mode", Group::act, "Set the permission mode of a worker, or of all", declare_mode, ops::shapes<ops::ModesSent>},
    {"shutdown", Group::act, "Ask a worker to end, and clean up after it", declare_shutdown, ops::shapes<ops::ShutdownsBegun>},
    {"resume", Group::act, "Lead again after somebody else was found reading the lead's inbox", declare_resume, ops::shapes<ops::Resumed>},
    {"inbox", Group::act, "The plain mailbox: list, show, unread, send, mark-read, clear", declare_inbox},
    {"inbox list", Group::act, "Show the inboxes of the team", declare_inbox_list, ops::shapes<ops::InboxList>},
    {"inbox show", Group::act, "Show the entries of an inbox", declare_inbox_show, ops::shapes<ops::InboxEntries>},
    {"inbox unread", Group::act, "Show the unread entries of an inbox", declare_inbox_unread, ops::shapes<ops::InboxEntries>},
    {"inbox send", Group::act, "Append a message to an inbox", declare_inbox_send, ops::shapes<ops::InboxSent>},
    {"inbox mark-read", Group::act, "Mark entries of an inbox as read", declare_inbox_mark_read, ops::shapes<ops::InboxChanged>},
    {"inbox clear", Group::act, "Remove entries from an inbox", declare_inbox_clear, ops::shapes<ops::InboxChanged>},

    {"hosts acl", Group::look, "Print the users of the Redis between them, and make their passwords", declare_hosts_acl, ops::shapes<ops::HostsAcl>},

    {"box", Group::act, "Mail and tasks in a folder that agents share; no team, no daemon", declare_box},
    {"box send", Group::act, "Write a message to an actor", declare_box_send, ops::shapes<ops::BoxMessage>},
    {"box recv", Group::act, "Take the oldest message to you; wait for one", declare_box_recv, ops::shapes<ops::BoxMessage>},
    {"box try-recv", Group::act, "Take the oldest message to you, if there is one", declare_box_try_recv, ops::shapes<ops::BoxMessage>},
    {"box inbox", Group::act, "Show what waits for you, and how the tasks stand", declare_box_inbox, ops::shapes<ops::BoxInbox>},
    {"box post", Group::act, "Write a task that anybody may claim", declare_box_post, ops::shapes<ops::BoxTask>},
    {"box claim", Group::act, "Take the next task, for a time", declare_box_claim, ops::shapes<ops::BoxTask>},
    {"box heartbeat", Group::act, "Hold a task for longer", declare_box_heartbeat, ops::shapes<ops::BoxTask>},
    {"box complete", Group::act, "Hand in the result of a task", declare_box_complete, ops::shapes<ops::BoxTask>},
    {"box abandon", Group::act, "Give a task back", declare_box_abandon, ops::shapes<ops::BoxTask>},
    {"box sweep", Group::act, "Give back the tasks whose lease is over", declare_box_sweep, ops::shapes<ops::BoxTasks>},
    {"box copy", Group::act, "Copy mail and tasks between a folder and a Redis", declare_box_copy, ops::shapes<ops::BoxCopied>},
    {"tasks", Group::look, "Show the task queue of a folder that agents share: list, show, requeue", declare_tasks, ops::shapes<ops::BoxTasks>},
    {"tasks show", Group::look, "Show all that is known of a task", declare_tasks_show, ops::shapes<ops::BoxTasks>},
    {"tasks requeue", Group::look, "Put a dead task back to where it can be claimed", declare_tasks_requeue, ops::shapes<ops::BoxTask>},

    {"recv", Group::deliver, "Take the messages for the lead", declare_recv, ops::shapes<ops::LeadMessage>},
    {"ack", Group::deliver, "Acknowledge messages taken with `recv --no-ack`", declare_ack, ops::shapes<ops::Acknowledged>},
    {"lead", Group::deliver, "Say whether the lead is busy, idle or gone; without a state, show it", declare_lead, ops::shapes<ops::LeadOfTeam>},
    {"lead run", Group::deliver, "Start the lead, and give it its messages on its standard input", declare_lead_run},
    {"hook", Group::deliver, "What the lead's client runs as its hook", declare_hook},
    {"hook wait", Group::deliver, "Wake an idle session when messages come", declare_hook_wait},
    {"hook worker", Group::deliver, "What a worker's client runs before each tool call", declare_hook_worker},
    {"hook install", Group::deliver, "Put our hooks into the settings of a client", declare_hook_install, ops::shapes<ops::SettingsChanged>},
    {"hook uninstall", Group::deliver, "Take our hooks out again", declare_hook_uninstall, ops::shapes<ops::SettingsChanged>},

    {"mcp", Group::deliver, "Mail and tasks as tools of an assistant: a server that its client starts", declare_mcp},
    {"mcp install", Group::deliver, "Put this server into the settings of a client", declare_mcp_install, ops::shapes<ops::SettingsChanged>},
    {"mcp uninstall", Group::deliver, "Take it out again", declare_mcp_uninstall, ops::shapes<ops::SettingsChanged>},

    {"init", Group::set_up, "Look at what is there, and write the first team file", declare_init},
    {"run", Group::set_up, "Run the daemon", declare_run},
    {"check-config", Group::set_up, "Check the configuration and print what is in effect", declare_check_config, ops::shapes<ops::CheckedConfig>},
    {"reload", Group::set_up, "Read the configuration again, without a break", declare_reload, ops::shapes<ops::Reloaded>},
    {"completion", Group::set_up, "Print what a shell needs to complete our words", declare_completion},
    {"manual", Group::set_up, "Write the manual pages", declare_manual},
    {"help", Group::set_up, "Explain a command: help COMMAND", declare_help},
};
// clang-format on

constexpr const char* about =
    "The leader's side of a team of coding agents: answers their asks by rules and by you, and\n"
    "hands their messages to the lead session when it is idle.";

constexpr const char* exit_codes =
    "Exit codes:\n"
    "  0  done\n"
    "  1  could not be done: refused by the daemon, or a fault\n"
    "  2  the command line or the configuration is wrong (with `hook`, or no word at all: 1)\n"
    "  3  no daemon answers on the control socket\n"
    "  4  there is no such thing, or nothing to show: no message, no such team, worker or id\n"
    "  5  not in time: it goes on, and what was waited for has not come yet\n";

constexpr const char* every_commands_options =
    "Options of every command, before or behind it: --socket PATH, --team NAME, --json, -h, --help\n\n";

constexpr const char* example =
    "\nA daemon, and a person who answers:\n"
    "  inbox-poller run --config my-team.toml &\n"
    "  inbox-poller pending\n"
    "  inbox-poller approve ID\n\n"
    "`inbox-poller COMMAND --help` explains a command.\n\n";

std::string title_of(Group group) {
  switch (group) {
    case Group::answer: return "Answer asks";
    case Group::look: return "Look";
    case Group::act: return "Act on the team";
    case Group::deliver: return "Deliver to the lead";
    case Group::set_up: break;
  }
  return "Set up";
}

/// The command that a line came to, and its words with a blank behind each.
struct Reached {
  const CLI::App* command;
  std::string words;
};

Reached reached_by(const CLI::App& line) {
  Reached at{&line, ""};
  while (!at.command->get_subcommands().empty()) {
    at.command = at.command->get_subcommands().front();
    at.words += at.command->get_name() + ' ';
  }
  return at;
}

/// What to say of a word where a command should stand; empty when that is not what is wrong.
std::string unknown_command(const CLI::App& line) {
  const auto [here, above] = reached_by(line);
  std::vector<std::string> names;
  for (const CLI::App* one : here->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  const std::vector<std::string> left = line.remaining(true);
  const auto word = std::find_if(left.begin(), left.end(), [](const auto& one) { return !one.starts_with('-'); });
  const bool takes_words = !here->get_options([](const CLI::Option* one) { return one->get_positional(); }).empty();
  if (names.empty() || takes_words || (word == left.end() && here->get_require_subcommand_min() == 0)) return {};
  const std::string more = "\nRun `inbox-poller " + above + "--help` to see the commands.\n";
  if (word == left.end())
    return "inbox-poller: a command is missing" + (here == &line ? "" : " behind \"" + here->get_name() + '"') + more;
  const std::string meant = schema::nearest(*word, names);
  return "inbox-poller: there is no command \"" + above + printable(*word) + '"' +
         (meant.empty() ? "" : "; did you mean \"" + above + meant + "\"?") + more;
}

/// What else is wrong with a line: a mistyped option with its nearest neighbour, a word too many, or as CLI11 says it.
std::string wrong_line(const CLI::App& line, const CLI::ParseError& problem) {
  const auto [here, words] = reached_by(line);
  std::string text = problem.what();
  const bool too_much = problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (const std::vector<std::string> left = line.remaining(true); too_much && !left.empty()) {
    const auto option = std::find_if(left.begin(), left.end(), [](const auto& one) { return one.starts_with('-'); });
    text = option == left.end() ? '"' + left.front() + "\" is a word too many" : "there is no option " + *option;
    std::vector<std::string> known;
    for (const CLI::App* app : {here, &line})
      for (const CLI::Option* one : app->get_options())
        for (const std::string& name : one->get_lnames()) known.push_back("--" + name);
    if (option != left.end()) text += schema::did_you_mean(option->substr(0, option->find('=')), known);
  }
  return printable_block(text, "inbox-poller: ") + "Run `inbox-poller " + words + "--help` to see what it takes.\n";
}

}  // namespace

std::span<const Command> commands() { return all_commands; }

const CLI::App* command_below(const CLI::App& above, const std::string& name) {
  for (const CLI::App* one : above.get_subcommands([](const CLI::App*) { return true; }))
    if (one->get_name() == name) return one;
  return nullptr;
}

void explain(CLI::App& command, const std::string& help) {
  command.footer("\n" + help + "\n\n" + every_commands_options + exit_codes);
}

void explain_alone(CLI::App& command, const std::string& help) {
  command.footer("\n" + help + '\n' + every_commands_options);
}

/// Reached with nothing behind it only: run_command_line() makes `COMMAND --help` of the words.
void declare_help(CLI::App& command, Context& context) {
  explain(command,
          "The same as `COMMAND --help`; without a command, as `--help`.\n\n"
          "Example:\n"
          "  inbox-poller help hook install");
  auto words = std::make_shared<std::vector<std::string>>();
  command.add_option("COMMAND", *words, "The command's words");
  command.callback([words, &command, &context] { context.exit_code = context.print(command.get_parent()->help()); });
}

std::unique_ptr<CLI::App> command_line(Context& context) {
  auto line = std::make_unique<CLI::App>(about, "inbox-poller");
  line->footer(std::string(example) + exit_codes);
  line->get_formatter()->column_width(28);
  line->require_subcommand(1);
  line->fallthrough();  // global options may stand behind the command too
  line->set_version_flag("-V,--version", version_text());
  line->add_option("--socket", context.socket, "The daemon's control socket (default: as configured)")
      ->type_name("PATH");
  line->add_option("--team", context.team, "The team; may be left out where there is only one")->type_name("NAME");
  line->add_flag("--json", context.json, "Print the daemon's answer as JSON, for programs");
  for (const Command& command : commands()) {
    const std::size_t space = command.name.find(' ');
    const bool below = space != std::string_view::npos;
    CLI::App* parent = below ? line->get_subcommand(std::string(command.name.substr(0, space))) : line.get();
    const auto name = std::string(below ? command.name.substr(space + 1) : command.name);
    CLI::App* added = parent->add_subcommand(name, std::string(command.summary));
    if (!below) added->group(title_of(command.group));
    command.declare(*added, context);
  }
  return line;
}

int run_command_line(std::vector<std::string> arguments, Console& console, RunDaemon run_daemon) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed output is an error we report, and `recv` must not acknowledge after it
  Context context(console, std::move(run_daemon));
  const auto line = command_line(context);
  if (const auto dashes = std::find(arguments.begin(), arguments.end(), "--"); dashes != arguments.end())
    context.behind_dashes.assign(dashes + 1, arguments.end());
  // A hook that leaves with 2 stops its client from what it was about to do. A client that does not know a hook's
  // `args` starts us without any.
  const bool may_be_hook =
      arguments.empty() || std::find(arguments.begin(), arguments.end(), "hook") != arguments.end();
  if (!arguments.empty() && arguments.front() == "__complete")
    return static_cast<int>(complete(context, *line, {arguments.begin() + 1, arguments.end()}));
  if (!arguments.empty() && arguments.front() == "help" && (arguments.size() == 1 || !arguments[1].starts_with('-'))) {
    arguments.erase(arguments.begin());
    const CLI::App* here = line.get();
    for (const std::string& word : arguments) here = here == nullptr ? nullptr : command_below(*here, word);
    if (here != nullptr) arguments.emplace_back("--help");  // otherwise it is said which word is none
  }
  std::reverse(arguments.begin(), arguments.end());  // the order CLI11 takes a vector in
  try {
    line->parse(std::move(arguments));
  } catch (const CLI::ParseError& problem) {
    std::ostringstream out;
    std::ostringstream err;
    if (line->exit(problem, out, err) == 0) return static_cast<int>(context.print(out.str()));
    const std::string unknown = unknown_command(*line);
    console.explain(unknown.empty() ? wrong_line(*line, problem) : unknown);
    return static_cast<int>(may_be_hook ? ExitCode::failed : ExitCode::usage);
  } catch (const std::exception& problem) {
    console.explain("inbox-poller: " + printable(problem.what()) + '\n');
    return static_cast<int>(ExitCode::failed);
  }
  return static_cast<int>(context.exit_code);
}

}  // namespace inbox_poller::poller::cli
