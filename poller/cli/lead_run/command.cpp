// `lead run`: the command line of LeadSupervisor.
#include <algorithm>

#include "poller/cli/command.hpp"
#include "poller/cli/lead_run/supervisor.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {
namespace {

/// True if the rules answer the lead's prompts for tools. False if no daemon answers.
bool answers_prompts(Context& context, const std::string& socket) {
  auto client = ControlClient::connect(socket);
  if (!client) return false;
  const auto answer = context.ask(*client, arguments::Lead(), std::chrono::seconds(5));
  return answer && answer->permissions;
}

/// Adds missing options to the client's command line, and reports them. Without them arrival is only assumed, and no
/// rule answers its prompts.
void complete(LeadRunOptions& options, bool permissions, const Tell& tell) {
  const auto missing = schema::missing_options(options.argv, permissions);
  if (!missing.other_prompt_tool.empty())
    tell("[lead] permissions is set, but the lead's prompts go to " + missing.other_prompt_tool +
         " (--permission-prompt-tool); for the rules to answer them that must be stdio");
  std::string words;
  for (const auto& option : missing.options) words += (words.empty() ? "" : " ") + option;
  if (words.empty()) return;
  if (missing.behind_dashes) return tell("add to the lead's command line, in front of --: " + words);
  tell("added to the lead's command line: " + words);
  options.argv.insert(options.argv.end(), missing.options.begin(), missing.options.end());
}

ExitCode run_lead(Context& context, LeadRunOptions options) {
  const Result<std::string> socket = context.socket_path();
  if (!socket) return context.fail(socket.error());
  const Tell tell = [&context](const std::string& line) { context.console.complain(printable(line)); };
  if (!options.lines) {
    complete(options, answers_prompts(context, *socket), tell);
    const auto lacks = schema::missing_options(options.argv, true).options;
    options.prompts = std::find(lacks.begin(), lacks.end(), "--permission-prompt-tool") == lacks.end();
  }
  LeadSupervisor host(std::move(options), *socket, context.team, tell);
  const Result<int> code = host.run();
  if (!code) return context.fail(code.error());
  return static_cast<ExitCode>(*code);
}

struct LeadRunLine {
  LeadRunOptions lead;
  std::string protocol = "stream-json";
};

ExitCode run_line(Context& context, const LeadRunLine& line) {
  if (context.behind_dashes.empty()) throw CLI::ValidationError("the program stands behind --: lead run -- PROGRAM");
  LeadRunOptions options = line.lead;
  options.argv = context.behind_dashes;
  options.lines = line.protocol == "lines";
  return run_lead(context, options);
}

// clang-format off
constexpr Argument lead_run_takes[] = {
    takes<&LeadRunLine::lead, &LeadRunOptions::argv>("PROGRAM ARGS", "The program and its arguments, behind --").required(),
    takes<&LeadRunLine::protocol>("--protocol NAME", "stream-json or lines").shows_default().one_of("stream-json, lines"),
    takes<&LeadRunLine::lead, &LeadRunOptions::restarts>("--restart N", "Start it again when it fails, at most so often without a turn that ended in between").shows_default().within(0, 1'000'000),
    takes<&LeadRunLine::lead, &LeadRunOptions::resume>("--resume,!--no-resume", "Add --resume SESSION when it is started again (stream-json; the default)"),
};

constexpr Command lead_run_rows[] = {
    {.name = "lead run", .group = Group::deliver, .summary = "Start the lead, and give it its messages on its standard input",
     .help = "Starts the lead and gives it its messages on its standard input whenever it is idle. Its output goes\n"
             "through byte for byte, its errors too; whole lines of our own input go to it between the messages.\n\n"
             "stream-json: a client that speaks stream-json both ways. Its turns are known from its output; a message\n"
             "counts as delivered when its model answers after the client took the line up (command_lifecycle,\n"
             "user_message_uuids, or the line repeated), or else, assumed, when a turn with an answer ends. With [lead]\n"
             "permissions its prompts for tools (can_use_tool) are answered by the rules and by `approve` and `deny`;\n"
             "without that they are left to the program that reads the output. Options that its command line lacks for\n"
             "this are added, and said: --verbose, --replay-user-messages and, with [lead] permissions,\n"
             "--permission-prompt-tool stdio.\n"
             "lines: any other program. Each message is one line of JSON as `recv --format json` prints it, and counts\n"
             "as delivered once it was written. The program may call `inbox-poller lead busy` and `lead idle`.\n\n"
             "The lead's input stays open, also when ours ends, until SIGTERM, SIGINT or SIGHUP: these are passed on to\n"
             "the lead's process group, and nothing is started again after them. Without a daemon the lead goes on;\n"
             "it gets its messages when the daemon is back. What was not delivered when the lead ended comes again,\n"
             "and says that it may be a repeat.",
     .examples = "inbox-poller lead run --restart 5 -- claude -p --input-format stream-json \\\n"
                 "    --output-format stream-json --verbose --replay-user-messages\n"
                 "inbox-poller lead run --protocol lines -- ./my-lead.py",
     .arguments = lead_run_takes, .work = runs<run_line>,
     .exit_codes = "The exit code is the lead's, or 128 and the number of the signal that ended it; 1 when it could not be\n"
                   "started, 2 when the command line is wrong.\n"},
};
// clang-format on

}  // namespace

std::span<const Command> lead_run_commands() { return lead_run_rows; }

}  // namespace inbox_poller::poller::cli
