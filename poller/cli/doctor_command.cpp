// `doctor`: examines the installation, and names each problem with the command that fixes it.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <memory>

#include "poller/cli/command.hpp"
#include "poller/cli/doctor/look.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/status_text.hpp"
#include "schema/operations/printed.hpp"
#include "poller/control/known_socket.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds quick_patience{5000};

Result<std::vector<Pane>> list_panes(const std::vector<std::string>& tmux, Processes& processes) {
  boost::asio::io_context context;
  TmuxPanes panes(tmux, processes);
  Result<std::vector<Pane>> found = Error{"panes.unavailable", "not looked for"};
  const auto look = [&]() -> boost::asio::awaitable<void> { found = co_await panes.list(); };
  boost::asio::co_spawn(context, look(), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
  return found;
}

Installation installation(const Context& context, const config::Sources& named) {
  Installation at{config::Environment::from_process(), {}, {}, false, false, "", Error{std::string(code::no_daemon), ""}};
  at.socket = reachable_socket(config::load_daemon_settings(at.environment, named.daemon_file).daemon);
  if (!context.socket.empty())
    if (const Result<std::string> path = context.socket_path()) at.socket = *path;
  Result<ControlClient> client = ControlClient::connect(at.socket);
  const auto answer =
      client ? client->call(arguments::on_wire(arguments::Status())) : Result<json::object>(client.error());
  at.status = answer ? Result(operations::decode<operations::Status>(*answer)) : answer.error();
  at.asked = at.status && named.files.empty() && named.dir.empty();
  at.sources = at.asked ? sources_in(at.status->configuration) : named;
  if (!named.daemon_file.empty()) at.sources.daemon_file = named.daemon_file;
  at.unconfigured = config::is_unconfigured(at.sources, at.environment);
  at.loaded = at.unconfigured ? config::load_daemon_settings(at.environment, at.sources.daemon_file)
                              : config::load(at.sources, at.environment);
  return at;
}

std::string section_text(const Console& console, const Section& section) {
  std::string text = console.bold(printable(section.title)) + '\n';
  for (const Finding& finding : section.findings) {
    const std::string name(to_string(finding.severity));
    const std::string margin(11, ' ');
    const std::string line = "  " + (finding.severity >= Severity::warning ? console.loud(name) : name) +
                             std::string(9 - name.size(), ' ') + printable(finding.what);
    for (const std::string& part : by_words(line, console.columns(), 11))
      text += part + '\n';  // commands stay whole, to be copied
    if (!finding.where.empty()) text += margin + printable(finding.where) + '\n';
    if (!finding.mend.empty()) text += margin + "-> " + printable(finding.mend) + '\n';
  }
  return text + '\n';
}

}  // namespace

ExitCode examine_all(Context& context, const config::Sources& sources) {
  PosixFileSystem files;
  const SystemClock clock;
  SystemProcesses processes;
  const World world{files,     clock,
                    processes, [&](const std::vector<std::string>& tmux) { return list_panes(tmux, processes); },
                    wait_here, find_clients};
  std::vector<Section> sections = examine(world, installation(context, sources));
  const auto is_meant = [&](const Section& one) { return one.team == context.team; };
  const auto says_so = [&](const Finding& one) {
    return one.check == "team.none" && one.what.starts_with("team \"" + context.team + "\" does not exist");
  };
  if (!context.team.empty() && std::ranges::none_of(sections, is_meant) &&
      std::ranges::none_of(sections.front().findings, says_so))
    sections.front().findings.push_back({Severity::error, "team.unknown",
                                         "no team called " + context.team + " was found, so none was examined", "",
                                         "inbox-poller doctor, without --team, names those that are there"});
  if (!context.team.empty())
    std::erase_if(sections, [&](const Section& one) { return !one.team.empty() && one.team != context.team; });
  long long counts[] = {0, 0, 0, 0};
  operations::Doctor report;
  std::string text;
  for (const Section& section : sections) {
    report.sections.push_back({section.title, section.team, {}});
    for (const Finding& finding : section.findings) {
      ++counts[static_cast<std::size_t>(finding.severity)];
      report.sections.back().findings.push_back(
          {to_string(finding.severity), finding.check, finding.what, finding.where, finding.mend});
    }
    text += section_text(context.console, section);
  }
  const long long warnings = counts[static_cast<std::size_t>(Severity::warning)];
  const long long errors = counts[static_cast<std::size_t>(Severity::error)];
  report.warnings = warnings;
  report.errors = errors;
  text += std::to_string(errors) + (errors == 1 ? " error, " : " errors, ") + std::to_string(warnings) +
          (warnings == 1 ? " warning\n" : " warnings\n");
  const ExitCode printed = context.json ? context.print_record(report) : context.print(text);
  if (printed != ExitCode::done) return printed;
  return static_cast<ExitCode>(errors > 0 ? 2 : warnings > 0 ? 1 : 0);
}

namespace {

/// Checks for a container's health check: one request to the daemon, one line of output, no examination of files.
ExitCode quick_doctor(Context& context) {
  Result<ControlClient> client = context.connect();
  const auto answer = client ? context.ask(*client, arguments::Status(), quick_patience) : client.error();
  std::string errors, warnings;
  const auto add = [](std::string& to, const std::string& one) { to += (to.empty() ? "" : ", ") + one; };
  if (!answer) add(errors, printable(answer.error().message));
  for (const auto& team : (answer ? *answer : operations::Status()).teams)
    for (const std::string& word : team_line(team).trouble)
      add(team.ledger_fault ? errors : warnings, printable(team.team) + ": " + word);
  const bool good = errors.empty() && warnings.empty();
  const ExitCode printed =
      context.json
          ? context.print_record(operations::QuickDoctor{errors, warnings})
          : context.print(good ? "ok\n" : errors + (errors.empty() || warnings.empty() ? "" : "; ") + warnings + '\n');
  if (printed != ExitCode::done) return printed;
  return static_cast<ExitCode>(!errors.empty() ? 2 : !warnings.empty() ? 1 : 0);
}

struct DoctorOptions {
  config::Sources sources;
  bool is_quick = false;
};

ExitCode doctor(Context& context, const DoctorOptions& options) {
  return options.is_quick ? quick_doctor(context) : examine_all(context, options.sources);
}

// clang-format off
constexpr Argument doctor_takes[] = {
    takes_each<&DoctorOptions::sources, source_arguments>(),
    takes<&DoctorOptions::is_quick>("--quick", "Only ask the daemon, for a health check: a line, and the same codes"),
};

constexpr Command doctor_rows[] = {
    {.name = "doctor", .group = Group::look, .summary = "Check the whole installation, and name each fix",
     .help = "Looks at everything at once and changes nothing: configuration, owners and modes, disk, daemon\n"
             "and ledger; hooks in settings files that a client in PATH does not take; and of each team the roster\n"
             "against panes and processes, locks and their age, torn, oversized and orphaned inboxes, unread files, and\n"
             "other consumers. The team files are those that are named; else those that the running daemon reads; else\n"
             "the default ones. Each line names what was looked at.",
     .examples = "inbox-poller doctor\n"
                 "inbox-poller doctor --quick      # a container's health check: 2 when no daemon answers or no commit works\n"
                 "inbox-poller doctor --team demo --json | jq '.sections[].findings[] | select(.severity == \"error\")'",
     .arguments = doctor_takes, .work = runs<doctor>, .prints = operations::shapes<operations::Doctor, operations::QuickDoctor>,
     .exit_codes = "Exit codes:\n"
                   "  0  nothing to do (notes at most)\n"
                   "  1  warnings\n"
                   "  2  errors; or the command line is wrong\n"},
};
// clang-format on

}  // namespace

std::span<const Command> doctor_commands() { return doctor_rows; }

}  // namespace inbox_poller::poller::cli
