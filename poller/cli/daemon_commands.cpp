// Commands for the daemon itself: `run`, `check-config`, `reload`, `resume`.
#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "poller/cli/command.hpp"
#include "poller/cli/doctor/judge.hpp"
#include "poller/cli/doctor/look.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/request_card.hpp"
#include "poller/cli/survey.hpp"
#include "poller/cli/team_files.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "schema/envelope.hpp"
#include "schema/nearest.hpp"
#include "schema/operations/order.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

namespace {

std::vector<operations::Setting> told_of(const std::vector<config::Setting>& settings) {
  std::vector<operations::Setting> list;
  for (const config::Setting& setting : settings) {
    const auto value = schema::parse_value(setting.value);  // TOML writes nearly all of these values as JSON does
    list.push_back({setting.key, value ? *value : boost::json::value(setting.value), setting.origin});
  }
  return list;
}

std::string settings_table(const Console& console, const std::vector<config::Setting>& settings) {
  std::vector<Row> rows;
  for (const config::Setting& setting : settings)
    rows.push_back({printable(setting.key), printable(setting.value), printable(setting.origin)});
  return console.table(rows, "  ");
}

struct NamedWorker {
  std::string team;
  WorkerAnswers worker;
};

/// Lists the workers of the present teams, whichever their folders.
std::vector<NamedWorker> workers_now(const config::TeamConfig& config, WorkerProcesses& processes) {
  PosixFileSystem files;
  const SystemClock clock;
  std::vector<NamedWorker> workers;
  const auto places = find_teams(files, config);
  if (!places) return workers;
  for (const TeamPlace& place : *places) {
    ArraysMailbox mailbox(files, clock, settings_of(place.config, place.name));
    const auto roster = mailbox.roster();
    if (!roster) continue;
    for (auto& worker : workers_of(*roster, config, processes)) workers.push_back({place.name, std::move(worker)});
  }
  return workers;
}

/// Says for each worker whether answers from this machine count.
std::string workers_text(const std::vector<NamedWorker>& workers) {
  std::string text;
  for (const auto& [team, worker] : workers) {
    const std::string name = printable(worker.name);
    const std::string reason = worker.authority.counts() ? name + " takes answers from here" : verifies(name, worker.authority);
    text += "  team " + printable(team) + ": " + reason + '\n';
  }
  return text;
}

operations::CheckedConfig checked(const config::Loaded& loaded, WorkerProcesses& processes) {
  operations::CheckedConfig all{loaded.problems.empty(), told_of(loaded.daemon_settings), {},
                                operations::texts_of(loaded.warnings), operations::texts_of(loaded.problems)};
  for (const config::LoadedTeam& team : loaded.teams) {
    all.teams.push_back({team.config.source, told_of(team.settings), {}});
    for (const auto& [name, worker] : workers_now(team.config, processes))
      all.teams.back().members.push_back({name, worker.name, to_string(worker.authority.answers), worker.authority.reason});
  }
  return all;
}

constexpr std::chrono::milliseconds brief_patience{5000};  // an unresponsive daemon must not delay the command

std::string places_of(const config::Sources& sources) {
  return boost::join(sources.files, ", ") + (sources.files.empty() || sources.dir.empty() ? "" : ", ") + sources.dir;
}

/// Prints what is watched without a configuration, and what to do for more.
void tell_unconfigured(const Context& context) {
  const auto environment = config::Environment::from_process();
  PosixFileSystem files;
  const config::TeamConfig any = any_team("", environment);
  const auto teams = look_around(files, SystemClock(), any);
  static_cast<void>(context.print(context.console.fit(unconfigured_text(any, teams, config::team_folder(environment)))));
}

/// Lists configured teams that do not exist, each with a similar existing name, and folders of teams that cannot be
/// read; `unread` says that there is one.
std::string unmatched(const config::Loaded& loaded, bool& unread) {
  PosixFileSystem files;
  std::string text;
  for (const config::LoadedTeam& team : loaded.teams) {
    const config::TeamSettings& wanted = team.config.team;
    if (wanted.backend != config::Backend::claude_code) continue;
    config::TeamConfig any = team.config;
    any.team.name = "*";
    const auto places = find_teams(files, any);
    if (!places && !is_errno(places.error(), ENOENT)) {
      unread = true;
      text += team.config.source + ": " + places.error().message + " -> ls -ld " + shell_word(wanted.root) + '\n';
      continue;
    }
    if (wanted.is_glob()) continue;
    std::vector<std::string> names;
    if (places)
      for (const TeamPlace& place : *places) names.push_back(place.name);
    if (std::find(names.begin(), names.end(), wanted.name) != names.end()) continue;
    text += team.config.source + ": team \"" + wanted.name + "\" does not exist below " + wanted.root + " yet" +
            schema::did_you_mean(wanted.name, names) + '\n';
  }
  return text;
}

/// Adds the problems of the programs and Redis servers that team files name, as far as visible from this machine.
void warn_of_surroundings(config::Loaded& loaded) {
  for (const config::LoadedTeam& team : loaded.teams) {
    const std::string begin = team.config.source + ": ";
    for (const auto& [setting, argv] : {std::pair{"delivery.exec", &team.config.delivery.exec.argv},
                                        std::pair{"approver.command", &team.config.approver.command},
                                        std::pair{"tasks.done_command", &team.config.tasks.done_command}})
      if (!argv->empty() && ::access(argv->front().c_str(), X_OK) != 0)
        loaded.warnings.push_back(begin + setting + ": cannot run " + argv->front() + ": " + std::strerror(errno) +
                                  " -> install the program, or correct its path");
    const bool has_cluster = !team.config.cluster.node.empty();
    if (team.config.team.backend != config::Backend::redis && !has_cluster) continue;
    for (const Finding& one : has_cluster ? examine_engine(team.config) : examine_redis(team.config).findings)
      if (one.severity >= Severity::warning)
        loaded.warnings.push_back(begin + (has_cluster ? "cluster.redis_url: " : "team.redis_url: ") + one.what +
                                  (one.mend.empty() ? "" : " -> " + one.mend));
  }
}

ExitCode check_config(Context& context, const config::Sources& named) {
  if (!context.team.empty())
    return context.fail(
        usage_error("--team: `check-config` reads whole files; name the file of one team with --config FILE"));
  const config::Sources sources = meant_sources(context, named);
  const bool is_named = !named.files.empty() || !named.dir.empty();
  if (const std::string where = is_named ? "" : places_of(sources); !where.empty())
    context.console.explain("what the running daemon reads: " + printable(where) + '\n');
  config::Loaded loaded = config::load(sources, config::Environment::from_process());
  const bool good = loaded.problems.empty();
  if (good) warn_of_surroundings(loaded);
  for (const std::string& problem : loaded.problems) context.console.explain(printable(problem) + '\n');
  for (const std::string& warning : loaded.warnings) context.console.explain("WARNING: " + printable(warning) + '\n');
  bool unread = false;
  const std::string odd = good ? unmatched(loaded, unread) : "";
  if (!odd.empty()) context.console.explain(printable_block(odd, ""));
  ExitCode printed = ExitCode::done;
  SystemProcesses system;
  const SystemClock clock;
  WorkerProcesses processes(system, clock);
  if (context.json) {
    printed = context.print_record(checked(loaded, processes));
  } else if (good) {
    std::string text = context.console.bold("daemon") + '\n' + settings_table(context.console, loaded.daemon_settings);
    for (const config::LoadedTeam& team : loaded.teams)
      text += '\n' + context.console.bold("team file " + printable(team.config.source)) + '\n' +
              settings_table(context.console, team.settings) +
              context.console.fit(workers_text(workers_now(team.config, processes)));
    printed = context.print(text);
  }
  return !good ? ExitCode::usage : unread ? ExitCode::failed : printed;
}

ExitCode reload(Context& context) {
  return context.show(arguments::Reload(), [&](const auto& answer) -> std::string {
    std::string text;
    for (const auto& [names, words] :
         {std::pair{&answer.added, "now served: "}, std::pair{&answer.removed, "no longer served: "},
          std::pair{&answer.changed, "with new settings: "}})
      if (!names->empty()) text += words + names_of(*names) + '\n';
    if (const std::string settings = names_of(answer.restart); !settings.empty())
      text += context.console.loud("only after a restart: ") + settings + '\n';
    if (text.empty()) text = "no team has changed\n";
    for (const auto& warning : answer.warnings) text += context.console.loud("warning: ") + printable(warning) + '\n';
    return text + answered_by_rules(answer.answered);
  });
}

ExitCode resume(Context& context) {
  const auto before = context.ask(arguments::Status());
  return context.show(arguments::Resume(), [&](const auto& answer) -> std::string {
    const auto* team = before ? served_in(*before, answer.team.bytes) : nullptr;
    if (team != nullptr && team->role == answer.role && team->role_reason.empty())
      return "team " + printable(answer.team) + " was not paused; its role is " + printable(answer.role) + '\n';
    return "team " + printable(answer.team) + ": " + printable(answer.role) + '\n';
  });
}

struct CheckOptions {
  config::Sources sources;
};

struct RunLine {
  RunOptions daemon;
  config::Sources sources;
  long long polls = 0;
  bool once = false;
};

ExitCode run(Context& context, const RunLine& line) {
  RunOptions options = line.daemon;
  options.sources = line.sources;
  if (!context.team.empty())
    return context.fail(
        usage_error("--team: `run` serves all teams of its files; name the file of one with --config FILE"));
  if (line.once || line.polls > 0) options.polls = line.once ? 1 : static_cast<unsigned>(line.polls);
  if (!context.socket.empty()) {
    const Result<std::string> path = context.socket_path();
    if (!path) return context.fail(path.error());
    options.socket = *path;
  }
  const auto environment = config::Environment::from_process();
  if (config::is_unconfigured(options.sources, environment) && !config::team_folder(environment).empty())
    tell_unconfigured(context);
  return static_cast<ExitCode>(context.run_daemon(options));
}

}  // namespace

config::Sources sources_in(const operations::Configuration& told) {
  config::Sources sources;
  for (const auto& file : told.files) sources.files.push_back(file.bytes);
  const std::string folder = told.folder.bytes;
  const auto environment = config::Environment::from_process();
  if (!folder.empty() && folder != config::team_folder(environment) && config::holds_team_files(folder)) sources.dir = folder;
  sources.daemon_file = told.daemon_file.bytes;
  return sources;
}

config::Sources meant_sources(const Context& context, const config::Sources& named) {
  if (!named.files.empty() || !named.dir.empty()) return named;
  Result<ControlClient> client = context.connect();
  const auto status =
      client ? client->call(arguments::on_wire(arguments::Status()), brief_patience) : client.error();  // of all teams
  config::Sources sources = status ? sources_in(operations::decode<operations::Status>(*status).configuration) : named;
  if (!named.daemon_file.empty()) sources.daemon_file = named.daemon_file;
  return sources;
}

namespace {

// clang-format off
constexpr Argument run_takes[] = {
    takes_each<&RunLine::sources, source_arguments>(),
    takes<&RunLine::polls>("--polls N", "Leave after so many polls of each team").within(1, 4'000'000'000),
    takes<&RunLine::once>("--once", "The same as --polls 1").excludes("--polls"),
    takes<&RunLine::daemon, &RunOptions::new_ledger>("--new-ledger", "Set a damaged ledger aside and start with an empty one"),
    takes<&RunLine::daemon, &RunOptions::log_level>("--log-level LEVEL", "debug, info, warn or error (default: as configured)").one_of("debug, info, warn, error"),
    takes<&RunLine::daemon, &RunOptions::log_format>("--log-format FORMAT", "auto, text or json (default: as configured)").one_of("auto, text, json"),
};
constexpr Argument check_config_takes[] = {takes_each<&CheckOptions::sources, source_arguments>()};

constexpr Command daemon_rows[] = {
    {.name = "run", .group = Group::set_up, .summary = "Run the daemon",
     .help = "Polls the inboxes of the configured teams until SIGTERM or SIGINT. It stays in the foreground;\n"
             "a service manager may start it (it reports readiness to systemd). One daemon serves any\n"
             "number of teams, and a second one on the same state folder refuses to start. Where nothing is\n"
             "configured it watches every team, writes nothing to any, and says what leads on.",
     .examples = "inbox-poller run\n"
                 "inbox-poller run --config my-team.toml --log-format text\n"
                 "inbox-poller run --once          # one poll, then leave: for tests and cron",
     .arguments = run_takes, .work = runs<run>},
    {.name = "check-config", .group = Group::set_up, .summary = "Check the configuration and print what is in effect",
     .help = "Prints every value with the place it comes from: \"default\", or file and line. The files are those\n"
             "that are named; else those that the running daemon reads; else those that `run` would read.\n"
             "All complaints come at once, on the error output, and so do warnings: rules that are not\n"
             "understood, that can deny nothing, or that end at the worker's folder.\n"
             "For each worker of a team that is there it says whether answers from here count with it.",
     .examples = "inbox-poller check-config\n"
                 "inbox-poller check-config --config my-team.toml --json",
     .arguments = check_config_takes, .work = runs<check_config>, .prints = operations::shapes<operations::CheckedConfig>},
    {.name = arguments::Reload::verb, .group = Group::set_up, .summary = "Read the configuration again, without a break",
     .help = "All files are read and checked first; if one is wrong, nothing changes and every complaint is shown.\n"
             "Teams whose root, backend or lead changed are stopped and started again; what the daemon itself is\n"
             "built on (its socket, ledger, log) holds only after a restart, and is named. SIGHUP does the same.",
     .examples = "inbox-poller check-config && inbox-poller reload",
     .work = runs<reload>, .prints = operations::shapes<operations::Reloaded>},
    {.name = arguments::Resume::verb, .group = Group::act, .summary = "Lead again after a competing consumer read the lead's inbox",
     .help = "A leader that sees its inbox consumed by another program stops or only watches (team.on_competing_consumer).\n"
             "End the other one, or give it the team with role = \"interceptor\", then resume. `inbox-poller status` shows\n"
             "the role and why it is so.",
     .examples = "inbox-poller resume --team demo",
     .work = runs<resume>, .prints = operations::shapes<operations::Resumed>},
};
// clang-format on

}  // namespace

std::span<const Command> daemon_commands() { return daemon_rows; }

}  // namespace inbox_poller::poller::cli
