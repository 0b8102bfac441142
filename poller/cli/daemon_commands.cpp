// `run`, `check-config`, `reload` and `resume`: the daemon itself.
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <memory>

#include "poller/cli/ask_card.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/doctor/look.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/survey.hpp"
#include "poller/cli/team_files.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "schema/envelope.hpp"
#include "schema/nearest.hpp"
#include "schema/operations/order.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

std::vector<operations::Setting> told_of(const std::vector<config::Setting>& settings) {
  std::vector<operations::Setting> list;
  for (const config::Setting& setting : settings) {
    const auto value = schema::parse_value(setting.value);  // TOML spells nearly all of ours as JSON does
    list.push_back({setting.key, value ? *value : json::value(setting.value), setting.origin});
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

/// The workers of the teams that are there now, whatever the folder.
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

/// Whose asks would be answered, by team; nothing for no team.
std::string workers_text(const std::vector<NamedWorker>& workers) {
  std::string text;
  for (const auto& [team, worker] : workers) {
    const std::string name = printable(worker.name);
    text += "  team " + printable(team) + ": " +
            (worker.worth.counts() ? name + " takes answers from here" : handlers::verifies(name, worker.worth)) + '\n';
  }
  return text;
}

operations::CheckedConfig checked(const config::Loaded& loaded, WorkerProcesses& processes) {
  operations::CheckedConfig all{loaded.problems.empty(), told_of(loaded.daemon_settings), {},
                                operations::texts_of(loaded.warnings), operations::texts_of(loaded.problems)};
  for (const config::LoadedTeam& team : loaded.teams) {
    all.teams.push_back({team.config.source, told_of(team.settings), {}});
    for (const auto& [name, worker] : workers_now(team.config, processes))
      all.teams.back().members.push_back({name, worker.name, handlers::to_string(worker.worth.answers), worker.worth.reason});
  }
  return all;
}

constexpr std::chrono::milliseconds brief_patience{5000};  // a daemon that does not answer is no reason to wait

std::string places_of(const config::Sources& sources) {
  std::string text;
  for (const std::string& file : sources.files) text += (text.empty() ? "" : ", ") + file;
  return text + (text.empty() || sources.dir.empty() ? "" : ", ") + sources.dir;
}

/// What is watched where nothing is configured, and what to do for more.
void tell_unconfigured(const Context& context) {
  const auto environment = config::Environment::from_process();
  PosixFileSystem files;
  const config::TeamConfig any = any_team("", environment);
  const auto teams = look_around(files, SystemClock(), any);
  static_cast<void>(context.print(context.console.fit(unconfigured_text(any, teams, config::team_folder(environment)))));
}

/// Teams that are not there, each with what its name may be a slip of.
std::string unmatched(const config::Loaded& loaded) {
  PosixFileSystem files;
  std::string text;
  for (const config::LoadedTeam& team : loaded.teams) {
    const config::TeamSettings& wanted = team.config.team;
    if (wanted.is_glob() || wanted.transport != config::Transport::claude) continue;
    config::TeamConfig any = team.config;
    any.team.name = "*";
    const auto places = find_teams(files, any);
    std::vector<std::string> names;
    if (places)
      for (const TeamPlace& place : *places) names.push_back(place.name);
    if (std::find(names.begin(), names.end(), wanted.name) != names.end()) continue;
    text += team.config.source + ": there is no team \"" + wanted.name + "\" below " + wanted.root + " yet" +
            schema::did_you_mean(wanted.name, names) + '\n';
  }
  return text;
}

/// What is wrong with an engine that a team file names, as far as it can be seen from here.
std::string unfit_engines(const config::Loaded& loaded) {
  std::string text;
  for (const config::LoadedTeam& team : loaded.teams) {
    const bool has_hosts = !team.config.hosts.host.empty();
    if (team.config.team.transport != config::Transport::redis && !has_hosts) continue;
    for (const Finding& one : has_hosts ? examine_engine(team.config) : examine_redis(team.config).findings)
      if (one.severity >= Severity::warning)
        text += "WARNING: " + team.config.source + (has_hosts ? ": hosts.engine: " : ": team.engine: ") + one.what + (one.mend.empty() ? "" : " -> " + one.mend) + '\n';
  }
  return text;
}

ExitCode check_config(Context& context, const config::Sources& named) {
  const config::Sources sources = meant_sources(context, named);
  const bool is_named = !named.files.empty() || !named.dir.empty();
  if (const std::string where = is_named ? "" : places_of(sources); !where.empty())
    context.console.explain("what the running daemon reads: " + printable(where) + '\n');
  const config::Loaded loaded = config::load(sources, config::Environment::from_process());
  const bool good = loaded.problems.empty();
  for (const std::string& problem : loaded.problems) context.console.explain(printable(problem) + '\n');
  for (const std::string& warning : loaded.warnings) context.console.explain("WARNING: " + printable(warning) + '\n');
  if (const std::string absent = good ? unmatched(loaded) : std::string(); !absent.empty())
    context.console.explain(printable_block(absent, ""));
  if (const std::string unfit = good ? unfit_engines(loaded) : std::string(); !unfit.empty())
    context.console.explain(printable_block(unfit, ""));
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
  return good ? printed : ExitCode::usage;
}

ExitCode reload(Context& context) {
  return context.show<operations::Reloaded>("reload", {}, [&](const auto& answer) -> std::string {
    std::string text;
    for (const auto& [names, words] :
         {std::pair{&answer.added, "now served: "}, std::pair{&answer.removed, "no longer served: "},
          std::pair{&answer.changed, "with new settings: "}})
      if (!names->empty()) text += words + names_of(*names) + '\n';
    if (const std::string settings = names_of(answer.restart); !settings.empty())
      text += context.console.loud("only after a restart: ") + settings + '\n';
    text += answered_by_rules(answer.answered);
    return text.empty() ? "nothing has changed\n" : text;
  });
}

ExitCode resume(Context& context) {
  return context.show<operations::Resumed>("resume", {}, [&](const auto& answer) -> std::string {
    return "team " + printable(answer.team) + ": " + printable(answer.role) + '\n';
  });
}

}  // namespace

void add_sources(CLI::App& command, config::Sources& sources) {
  command.add_option("--config", sources.files, "Team files, one for each team")->type_name("FILE");
  command
      .add_option("--config-dir", sources.dir,
                  "A folder of team files (default: ~/.config/inbox-poller/teams.d, when no --config is given)")
      ->type_name("DIR");
  command.add_option("--daemon-config", sources.daemon_file, "The daemon's own settings")->type_name("FILE");
}

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
  const Result<json::object> status = client ? client->call({{"verb", "status"}}, brief_patience) : client.error();  // of all teams
  config::Sources sources = status ? sources_in(operations::decode<operations::Status>(*status).configuration) : named;
  if (!named.daemon_file.empty()) sources.daemon_file = named.daemon_file;
  return sources;
}

void declare_run(CLI::App& command, Context& context) {
  auto options = std::make_shared<RunOptions>();
  explain(command,
          "Polls the inboxes of the configured teams until SIGTERM or SIGINT. It stays in the foreground;\n"
          "a service manager may start it (it reports readiness to systemd). One daemon serves any\n"
          "number of teams, and a second one on the same state folder refuses to start. Where nothing is\n"
          "configured it watches every team, writes nothing to any, and says what leads on.\n\n"
          "Examples:\n"
          "  inbox-poller run\n"
          "  inbox-poller run --config my-team.toml --log-format text\n"
          "  inbox-poller run --once          # one poll, then leave: for tests and cron");
  add_sources(command, options->sources);
  CLI::Option* polls =
      command.add_option("--polls", options->polls, "Leave after so many polls of each team")->type_name("N");
  polls->check(CLI::PositiveNumber.description(""));
  command
      .add_flag_callback(
          "--once", [options] { options->polls = 1; }, "The same as --polls 1")
      ->excludes(polls);
  command.add_flag("--new-ledger", options->new_ledger, "Set a damaged ledger aside and start with an empty one");
  const std::map<std::string, config::LogLevel> levels{{"debug", config::LogLevel::debug},
                                                       {"info", config::LogLevel::info},
                                                       {"warn", config::LogLevel::warn},
                                                       {"error", config::LogLevel::error}};
  const std::map<std::string, config::LogFormat> formats{
      {"auto", config::LogFormat::automatic}, {"text", config::LogFormat::text}, {"json", config::LogFormat::json}};
  command.add_option("--log-level", options->log_level, "debug, info, warn or error (default: as configured)")
      ->type_name("LEVEL")
      ->transform(CLI::CheckedTransformer(levels).description(""));
  command.add_option("--log-format", options->log_format, "auto, text or json (default: as configured)")
      ->type_name("FORMAT")
      ->transform(CLI::CheckedTransformer(formats).description(""));
  command.callback([options, &context] {
    if (!context.socket.empty()) {
      const Result<std::string> path = context.socket_path();
      if (!path) {
        context.exit_code = context.fail(path.error());
        return;
      }
      options->socket = *path;
    }
    if (config::is_unconfigured(options->sources, config::Environment::from_process())) tell_unconfigured(context);
    context.exit_code = static_cast<ExitCode>(context.run_daemon(*options));
  });
}

void declare_check_config(CLI::App& command, Context& context) {
  auto sources = std::make_shared<config::Sources>();
  explain(command,
          "Prints every value with the place it comes from: \"default\", or file and line. The files are those\n"
          "that are named; else those that the running daemon reads; else those that `run` would read.\n"
          "All complaints come at once, on the error output, and so do warnings: rules that are not\n"
          "understood, that can deny nothing, or that end at the worker's folder.\n"
          "For each worker of a team that is there it says whether answers from here count with it.\n\n"
          "Examples:\n"
          "  inbox-poller check-config\n"
          "  inbox-poller check-config --config my-team.toml --json");
  add_sources(command, *sources);
  command.callback([sources, &context] { context.exit_code = check_config(context, *sources); });
}

void declare_reload(CLI::App& command, Context& context) {
  explain(command,
          "All files are read and checked first; if one is wrong, nothing changes and every complaint is shown.\n"
          "Teams whose root, transport or lead changed are let go and found again; what the daemon itself is\n"
          "built on (its socket, ledger, log) holds only after a restart, and is named. SIGHUP does the same.\n\n"
          "Example:\n"
          "  inbox-poller check-config && inbox-poller reload");
  command.callback([&context] { context.exit_code = reload(context); });
}

void declare_resume(CLI::App& command, Context& context) {
  explain(command,
          "A leader that sees its inbox consumed by somebody else stops or only watches (team.foreign_consumer).\n"
          "End the other one, or give it the team with role = \"front\", then resume. `inbox-poller status` shows\n"
          "the role and why it is so.\n\n"
          "Example:\n"
          "  inbox-poller resume --team demo");
  command.callback([&context] { context.exit_code = resume(context); });
}

}  // namespace inbox_poller::poller::cli
