// `lead run`: the command line of LeadHost.
#include "poller/cli/command.hpp"
#include "poller/cli/lead_run/host.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {
namespace {

ExitCode run_lead(Context& context, const LeadRunOptions& options) {
  const Result<std::string> socket = context.socket_path();
  if (!socket) return context.fail(socket.error());
  LeadHost host(options, *socket, context.team,
                [&context](const std::string& line) { context.console.complain(printable(line)); });
  const Result<int> code = host.run();
  if (!code) return context.fail(code.error());
  return static_cast<ExitCode>(*code);
}

constexpr const char* about =
    "Starts the lead and gives it its messages on its standard input whenever it is idle. Its output goes\n"
    "through byte for byte, its errors too; whole lines of our own input go to it between the messages.\n\n"
    "stream-json: a client that speaks stream-json both ways. Its turns are known from its output; a message\n"
    "counts as delivered when the client repeats it (--replay-user-messages), or else when the turn ends.\n"
    "With [lead] permissions its prompts for tools (can_use_tool) are answered by the rules and by\n"
    "`approve` and `deny`; without that they are left to whoever reads the output.\n"
    "lines: any other program. Each message is one line of JSON as `recv --format json` prints it, and counts\n"
    "as delivered once it was written. The program may call `inbox-poller lead busy` and `lead idle`.\n\n"
    "The lead's input stays open, also when ours ends, until SIGTERM, SIGINT or SIGHUP: these are passed on to\n"
    "the lead's process group, and nothing is started again after them. Without a daemon the lead goes on;\n"
    "it gets its messages when the daemon is back. What was not delivered when the lead ended comes again,\n"
    "and says that it may be a repeat.\n\n"
    "Examples:\n"
    "  inbox-poller lead run --restart 5 -- claude -p --input-format stream-json \\\n"
    "      --output-format stream-json --verbose --replay-user-messages\n"
    "  inbox-poller lead run --protocol lines -- ./my-lead.py\n\n"
    "The exit code is the lead's, or 128 and the number of the signal that ended it; 1 when it could not be\n"
    "started, 2 when the command line is wrong.";

}  // namespace

CLI::App* add_lead_run(CLI::App& lead, Context& context) {
  auto options = std::make_shared<LeadRunOptions>();
  auto protocol = std::make_shared<std::string>("stream-json");
  CLI::App* command = lead.add_subcommand("run", "Start the lead, and give it its messages on its standard input");
  command->footer(std::string("\n") + about + "\n");
  command->add_option("PROGRAM", options->argv, "The program and its arguments, behind --")
      ->type_name("ARGS")
      ->required();
  command->add_option("--protocol", *protocol, "stream-json or lines")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember({"stream-json", "lines"}).description(""));
  command
      ->add_option("--restart", options->restarts,
                   "Start it again when it fails, at most so often without a turn that ended in between")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000).description(""));
  command->add_flag("--resume,!--no-resume", options->resume,
                    "Add --resume SESSION when it is started again (stream-json; the default)");
  command->callback([options, protocol, &context] {
    if (context.behind_dashes.empty()) throw CLI::ValidationError("the program stands behind --: lead run -- PROGRAM");
    options->argv = context.behind_dashes;
    options->lines = *protocol == "lines";
    context.exit_code = run_lead(context, *options);
  });
  return command;
}

}  // namespace inbox_poller::poller::cli
