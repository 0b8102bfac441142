// The command table, and the parser that finds a command by its words.
#include <algorithm>
#include <boost/algorithm/string/erase.hpp>
#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/split.hpp>
#include <csignal>
#include <map>
#include <sstream>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::poller::cli {

using Rows = std::span<const Command>();
Rows request_commands, box_commands, completion_commands, daemon_commands, decision_commands, doctor_commands, help_commands,
    history_commands, hook_commands, hook_install_commands, nodes_acl_commands, nodes_commands, inbox_commands, init_commands,
    lead_run_commands, manual_commands, mcp_commands, mcp_install_commands, message_commands, metrics_commands, order_commands,
    rules_commands, shutdown_commands, status_commands, statusline_commands, task_commands, top_commands, trace_commands,
    wait_commands, web_commands;

namespace {

constexpr const char* about =
    "The leader's side of a team of coding agents: answers their requests by rules and by you, and\n"
    "hands their messages to the lead session when it is idle.";

constexpr const char* exit_codes =
    "Exit codes:\n"
    "  0  done\n"
    "  1  could not be done: refused by the daemon, or a fault\n"
    "  2  the command line or the configuration is wrong (with `hook`, or no word at all: 1)\n"
    "  3  no daemon answers on the control socket\n"
    "  4  not found, or nothing to show: no message, unknown team, worker or id\n"
    "  5  not in time: it goes on, and what was waited for has not come yet\n"
    "  6  with `run`: the ledger was taken away while it was used\n";

constexpr const char* every_commands_options =
    "Options of every command, before or after it: --socket PATH, --team NAME, --json, -h, --help\n\n";

constexpr const char* example =
    "\nA daemon, and a person who answers:\n"
    "  inbox-poller run --config my-team.toml &\n"
    "  inbox-poller pending\n"
    "  inbox-poller approve ID\n\n"
    "`inbox-poller COMMAND --help` explains a command.\n\n";

std::string title_of(Group group) {
  switch (group) {
    case Group::answer: return "Answer requests";
    case Group::look: return "Look";
    case Group::act: return "Act on the team";
    case Group::deliver: return "Deliver to the lead";
    case Group::set_up: break;
  }
  return "Set up";
}

struct HelpOptions {
  std::vector<std::string> words;
};

/// Prints the general help. Runs only without words; run_command_line() turns others into `COMMAND --help`.
ExitCode help(Context& context, const HelpOptions&) {
  return context.print(reflowed(context.line->help(), context.console.columns()));
}

/// Returns the text below a command's options in --help.
std::string footer_of(const Command& command) {
  const std::string examples(command.examples);
  const auto lines = std::count(examples.begin(), examples.end(), '\n') + 1;
  std::string text = '\n' + std::string(command.help) + '\n' + std::string(command.note);
  if (!examples.empty())
    text += (lines > 1 ? "\nExamples:\n  " : "\nExample:\n  ") + boost::algorithm::replace_all_copy(examples, "\n", "\n  ") + '\n';
  std::string codes(command.exit_codes.empty() ? exit_codes : command.exit_codes);
  if (!command.name.starts_with("hook")) boost::algorithm::erase_first(codes, " (with `hook`, or no word at all: 1)");
  if (command.name == "run") codes += "  6  the ledger was taken away while the daemon used it\n";
  return text + '\n' + every_commands_options + codes;
}

/// A command in the parser, with its options.
struct Made {
  const Command* row;
  CLI::App* parser;
  std::shared_ptr<void> options;
};

/// The command that a command line reached, and its words, each followed by a space.
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

/// Explains a word that is not a command, or a missing one, in two lines; empty when the mistake is another one.
std::string unknown_command(const CLI::App& line) {
  const auto [here, above] = reached_by(line);
  std::vector<std::string> names;
  for (const CLI::App* one : here->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  const std::vector<std::string> left = line.remaining(true);
  const auto word = std::find_if(left.begin(), left.end(), [](const auto& one) { return !one.starts_with('-'); });
  const bool takes_words = !here->get_options([](const CLI::Option* one) { return one->get_positional(); }).empty();
  if (names.empty() || takes_words || (word == left.end() && here->get_require_subcommand_min() == 0)) return {};
  const std::string more = "\nRun `inbox-poller " + above + "--help` to see the commands.";
  if (word == left.end()) return (here == &line ? "" : here->get_name() + ": ") + "missing command" + more;
  const std::string meant = schema::nearest(*word, names);
  return "unknown command \"" + above + printable(*word) + '"' +
         (meant.empty() ? "" : "; did you mean \"" + above + meant + "\"?") + more;
}

/// Words CLI11's text as other mistakes are worded: the option, the word found, the nearest choice, and all choices.
std::string worded(const std::string& text) {
  const auto where = text.find(": "), wrong = text.find(" not in {");
  if (text.ends_with(" is required")) return text.substr(0, text.size() - 12) + ": missing";
  if (const auto range = text.find(" not in range "); where != text.npos && range != text.npos)
    return text.substr(0, where + 2) + '"' + text.substr(where + 8, range - where - 8) + "\" is not a number from " +
           text.substr(range + 14);
  if (where == text.npos || wrong == text.npos || wrong < where || !text.ends_with('}')) return text;
  std::vector<std::string> choices;
  boost::split(choices, text.substr(wrong + 9, text.size() - wrong - 10), [](char c) { return c == ','; });
  const std::string word = text.substr(where + 2, wrong - where - 2);
  return text.substr(0, where) + ": unknown value \"" + word + '"' + schema::did_you_mean(word, choices) + " (" +
         boost::join(choices, ", ") + ")";
}

/// Explains all other mistakes: an unknown option with the nearest known one, a surplus word, or CLI11's own text.
std::string wrong_line(const CLI::App& line, const CLI::ParseError& problem) {
  const auto [here, words] = reached_by(line);
  std::string text = worded(problem.what());
  const bool too_much = problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (const std::vector<std::string> left = line.remaining(true); too_much && !left.empty()) {
    const auto option = std::find_if(left.begin(), left.end(), [](const auto& one) { return one.starts_with('-'); });
    text = option == left.end() ? "unexpected word \"" + left.front() + '"' : "unknown option " + *option;
    std::vector<std::string> known;
    for (const CLI::App* app : {here, &line})
      for (const CLI::Option* one : app->get_options())
        for (const std::string& name : one->get_lnames()) known.push_back("--" + name);
    if (option != left.end()) text += schema::did_you_mean(option->substr(0, option->find('=')), known);
  }
  return printable_block(text, "") + "Run `inbox-poller " + words + "--help` to see what it takes.";
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> table;
    // Keeps this order within a group; a subcommand follows its command.
    for (Rows* rows : {top_commands, request_commands, message_commands, order_commands, rules_commands, status_commands, statusline_commands,
                       wait_commands, trace_commands, decision_commands, history_commands, shutdown_commands,
                       metrics_commands, web_commands, nodes_commands, nodes_acl_commands, doctor_commands, init_commands, daemon_commands, inbox_commands,
                       box_commands, task_commands, lead_run_commands, hook_commands, hook_install_commands, mcp_commands,
                       mcp_install_commands, completion_commands, manual_commands, help_commands})
      table.insert(table.end(), rows().begin(), rows().end());
    std::ranges::stable_sort(table, {}, &Command::group);
    return table;
  }();
  return all;
}

const CLI::App* command_below(const CLI::App& above, const std::string& name) {
  for (const CLI::App* one : above.get_subcommands([](const CLI::App*) { return true; }))
    if (one->get_name() == name) return one;
  return nullptr;
}

namespace {

// clang-format off
constexpr Argument help_takes[] = {takes<&HelpOptions::words>("COMMAND", "The command's words")};

constexpr Command help_rows[] = {
    {.name = "help", .group = Group::set_up, .summary = "Explain a command: help COMMAND",
     .help = "The same as `COMMAND --help`; without a command, as `--help`.",
     .examples = "inbox-poller help hook install",
     .arguments = help_takes, .work = runs<help>},
};
// clang-format on

}  // namespace

std::span<const Command> help_commands() { return help_rows; }

std::unique_ptr<CLI::App> command_line(Context& context) {
  auto line = std::make_unique<CLI::App>(about, "inbox-poller");
  line->footer(std::string(example) + exit_codes);
  line->get_formatter()->column_width(28);
  line->require_subcommand(1);
  line->fallthrough();  // global options may follow the command too
  line->set_version_flag("-V,--version", version_text());
  line->add_option("--socket", context.socket, "The daemon's control socket (default: as configured)")
      ->type_name("PATH");
  line->add_option("--team", context.team, "The team; may be left out where there is only one")->type_name("NAME");
  line->add_flag("--json", context.json, "Print the daemon's answer as JSON, for programs");
  context.line = line.get();
  std::map<std::string, Made, std::less<>> made;
  for (const Command& command : commands()) {
    const std::size_t space = command.name.find(' ');
    const bool below = space != std::string_view::npos;
    const auto above = made.find(below ? command.name.substr(0, space) : "");
    CLI::App* parent = below ? above->second.parser : line.get();
    CLI::App* added = parent->add_subcommand(std::string(below ? command.name.substr(space + 1) : command.name),
                                             std::string(command.summary));
    added->footer(footer_of(command));
    if (below)
      parent->require_subcommand(above->second.row->work.run == nullptr ? 1 : 0, 1);
    else
      added->group(title_of(command.group));
    const auto* const work = &command.work;
    const bool shares = below && above->second.row->work.make == work->make;
    auto options = shares ? above->second.options : work->make == nullptr ? nullptr : work->make();
    for (const auto& arguments : {command.shared, command.arguments})
      for (const Argument& argument : arguments) argument.add(*added, options.get());
    if (work->run != nullptr)
      added->callback([work, added, options, &context] {
        if (added->get_subcommands().empty()) context.exit_code = work->run(context, options.get());
      });
    made.insert_or_assign(std::string(command.name), Made{&command, added, std::move(options)});
  }
  return line;
}

int run_command_line(std::vector<std::string> arguments, Console& console, RunDaemon run_daemon) {
  std::signal(SIGPIPE, SIG_IGN);  // writing to a closed output then fails, so that `recv` does not acknowledge
  Context context(console, std::move(run_daemon));
  const auto line = command_line(context);
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes != arguments.end()) context.behind_dashes.assign(dashes + 1, arguments.end());
  const bool for_program = std::find(arguments.begin(), dashes, "--json") != dashes;
  // A hook that exits with 2 blocks its client's action. A client that does not know a hook's `args` starts the program
  // without any.
  const bool may_be_hook = arguments.empty() || std::ranges::find(arguments, "hook") != arguments.end();
  if (!arguments.empty() && arguments.front() == "__complete")
    return static_cast<int>(complete(context, *line, {arguments.begin() + 1, arguments.end()}));
  if (!arguments.empty() && arguments.front() == "help" && (arguments.size() == 1 || !arguments[1].starts_with('-'))) {
    arguments.erase(arguments.begin());
    std::size_t known = 0;
    const CLI::App* here = line.get();
    while (known < arguments.size() && (here = command_below(*here, arguments[known])) != nullptr) ++known;
    // What follows the command is left out, since help never acts. The parser reports an unknown first word.
    if (!arguments.empty()) arguments.resize(std::max<std::size_t>(known, 1));
    if (known > 0 || arguments.empty()) arguments.emplace_back("--help");
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 parses a vector from its end
  try {
    line->parse(std::move(arguments));
  } catch (const CLI::ParseError& problem) {
    std::ostringstream out, err;
    if (line->exit(problem, out, err) == 0)
      return static_cast<int>(context.print(reflowed(out.str(), console.columns())));
    std::string text = unknown_command(*line);
    if (text.empty()) text = wrong_line(*line, problem);
    if (for_program)
      static_cast<void>(context.print_json({{"ok", false}, {"code", "command.usage"}, {"message", text}}));
    else
      console.explain("inbox-poller: " + text + '\n');
    return static_cast<int>(may_be_hook ? ExitCode::failed : ExitCode::usage);
  } catch (const std::exception& problem) {
    console.explain("inbox-poller: " + printable(problem.what()) + '\n');
    return static_cast<int>(ExitCode::failed);
  }
  return static_cast<int>(context.exit_code);
}

}  // namespace inbox_poller::poller::cli
