// `init`: examines the surroundings, asks at most five questions, shows a team file and writes it.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "poller/cli/box_place.hpp"
#include "poller/cli/clients.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/settings_change.hpp"
#include "poller/cli/team_files.hpp"
#include "schema/hook_settings.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::poller::cli {

namespace {

struct InitOptions {
  BoxPlace shared;
  std::string role;
  std::string allow;
  std::string method;
  bool yes = false;
};

/// The findings of `init`: printed, and used for its suggestions.
struct Surroundings {
  config::Environment environment;
  config::TeamConfig any;
  std::string folder;  // of team files
  std::vector<SeenTeam> teams;
  std::vector<Client> clients;
  std::string shared;  // folder or Redis with shared mail; empty: none known
  std::vector<std::string> actors;  // of that folder
  bool in_tmux = false;
  std::string settings;  // path of the user's client settings
  bool has_hooks = false;  // of the lead
  bool has_worker_hooks = false;
  bool has_daemon = false;
  config::Sources read_by_daemon = {};  // set if they differ from those of this environment
};

bool has_our_hooks(FileSystem& files, const std::string& path, schema::HookUser user) {
  const auto settings = read_settings(files, path);
  if (!settings || !settings->text) return false;
  const auto hooks = schema::hooks_in(*settings->text);
  return hooks && std::any_of(hooks->begin(), hooks->end(), [&](const auto& one) { return one.ours == user; });
}

/// Sets the shared mail: from --root, COLLAB_ROOT, or a repository's usual folder. Error: one of the first two is bad.
Status look_for_shared_mail(FileSystem& files, BoxPlace place, Surroundings& at) {
  std::error_code ignored;
  constexpr const char* usual = "scratch/coordination";
  const char* const named = std::getenv("COLLAB_ROOT");
  if (place.root.empty() && (named == nullptr || *named == '\0')) {
    if (!std::filesystem::is_directory(usual, ignored)) return Done{};
    place.root = usual;
  }
  TRY(const auto path, place.path());
  at.shared = path;
  if (config::is_engine_address(path)) return Done{};
  const SystemClock clock;
  if (auto actors = MaildirRoot(files, clock, path).actors()) at.actors = *std::move(actors);
  return Done{};
}

Result<Surroundings> look_around_us(const Context& context, const BoxPlace& shared) {
  Surroundings at;
  at.environment = config::Environment::from_process();
  at.folder = config::team_folder(at.environment);
  if (at.folder.empty())
    return Error{std::string(code::bad_path), "neither XDG_CONFIG_HOME nor HOME names a folder, as an absolute path"};
  at.any = any_team("", at.environment);
  PosixFileSystem files;
  TRY(auto teams, look_around(files, SystemClock(), at.any));
  at.teams = std::move(teams);
  TRY(look_for_shared_mail(files, shared, at));
  at.clients = find_clients();
  const char* const tmux = std::getenv("TMUX");
  at.in_tmux = tmux != nullptr && *tmux != '\0';
  if (const auto path = settings_path("user")) {
    at.settings = path->string();
    at.has_hooks = has_our_hooks(files, at.settings, schema::HookUser::lead);
    at.has_worker_hooks = has_our_hooks(files, at.settings, schema::HookUser::worker);
  }
  const auto socket = context.socket_path();
  at.has_daemon = socket && ControlClient::connect(*socket).ok();
  if (at.has_daemon) at.read_by_daemon = meant_sources(context, {});
  return at;
}

std::string surroundings_text(const Surroundings& at) {
  std::string text = "Teams below " + printable(at.any.team.root) + ":\n";
  text += at.teams.empty() ? "  none yet\n" : seen_text(at.teams);
  if (!at.shared.empty())
    text += "Mail that agents share in " +
            printable(at.shared + (at.actors.empty() ? "" : ": ") + boost::join(at.actors, ", ")) + '\n';
  std::string clients;
  for (const Client& client : at.clients) clients += (clients.empty() ? "" : ", ") + printable(to_string(client));
  text += "Clients in PATH: " + (clients.empty() ? "none" : clients) + '\n';
  if (!at.settings.empty())
    text += "Hooks of inbox-poller in " + printable(at.settings) + ": lead " + (at.has_hooks ? "yes" : "no") +
            ", workers " + (at.has_worker_hooks ? "yes" : "no") + '\n';
  return text + "This terminal is " + (at.in_tmux ? "" : "not ") + "in tmux. " +
         (at.has_daemon ? "A daemon runs.\n" : "No daemon runs.\n");
}

struct Possible {
  std::string value;
  std::string words;
};

/// Questions for a person at a terminal.
class Questions {
 public:
  Questions(Context& context, bool may_ask) : context_(context), may_ask_(may_ask) {}

  /// Returns the answer chosen by number; `suggested` for an empty line, at the input's end, or without a person.
  std::string ask(const std::string& question, const std::vector<Possible>& possible, const std::string& suggested) {
    if (!may_ask_) return suggested;
    std::string text = '\n' + question + '\n';
    std::size_t usual = 0;
    for (std::size_t i = 0; i < possible.size(); ++i) {
      if (possible[i].value == suggested) usual = i;
      text += "  " + std::to_string(i + 1) + "  " + possible[i].words + '\n';
    }
    for (;;) {
      context_.console.explain(text + "Number [" + std::to_string(usual + 1) + "]: ");
      const auto line = context_.console.read_line();
      if (!line || line->empty()) return suggested;
      const long number = std::strtol(line->c_str(), nullptr, 10);
      if (number >= 1 && number <= static_cast<long>(possible.size()))
        return possible[static_cast<std::size_t>(number) - 1].value;
      text = "That is none of them.\n";
    }
  }

 private:
  Context& context_;
  bool may_ask_;
};

std::string asked_team(Questions& questions, const Surroundings& at) {
  std::vector<Possible> possible;
  std::size_t sessions = 0;
  for (const SeenTeam& team : at.teams) {
    possible.push_back({team.place.name, printable(team.place.name)});
    if (team.place.name.starts_with("session-")) ++sessions;
  }
  if (sessions > 0) possible.push_back({"session-*", "session-*: each that a client makes for a session"});
  if (!at.shared.empty()) possible.push_back({at.shared, "the agents that share mail in " + printable(at.shared)});
  possible.push_back({"*", "every team, also those that come"});
  if (possible.size() == 1) return possible.front().value;
  const bool only_sessions = sessions > 0 && sessions == at.teams.size();
  return questions.ask("Which team is it about?", possible, only_sessions ? "session-*" : possible.front().value);
}

/// Derives a team's name from its shared mail: the name in a Redis address, or that of the folder's project.
std::string name_of_shared(const std::string& shared) {
  if (const auto address = config::parse_redis_address(shared)) return address->team;
  std::string name;
  for (const auto& part : std::filesystem::path(shared))
    if (part != "scratch" && part != "coordination") name = team_file_name(part.string());
  return name.substr(0, name.rfind(".toml"));
}

std::string asked_way(Questions& questions) {
  return questions.ask("How does the lead get its mail?",
                       {{"any", "by the first method that is available"},
                        {"hook", "an interactive client, by its hooks"},
                        {"stdin", "a headless client, started by `inbox-poller lead run`"},
                        {"socket", "a program of yours, which asks for it"}},
                       "any");
}

/// Completes a choice for shared mail: the actor, the role, and the delivery method. Error "command.usage".
Result<TeamChoice> choose_shared(Questions& questions, const InitOptions& options, const std::string& team,
                                 const Surroundings& at) {
  TeamChoice choice;
  choice.shared = at.shared;
  choice.team = team.empty() ? name_of_shared(at.shared) : team;
  if (const auto named = options.shared.who()) choice.lead = *named;
  std::vector<Possible> possible;
  for (const std::string& one : at.actors) possible.push_back({one, printable(one)});
  if (choice.lead.empty() && !possible.empty()) choice.lead = questions.ask("Whose mail is it about?", possible, "");
  if (choice.lead.empty()) return usage_error("whose mail is it? Name the actor with --actor NAME, or in COLLAB_ACTOR");
  choice.role = options.role;
  if (choice.role.empty())
    choice.role = questions.ask("What is to become of it?", {{"leader", "it is delivered to " + printable(choice.lead)},
                                                            {"observer", "only watch, and take nothing"}},
                                "leader");
  if (choice.role != "leader") return choice;
  choice.method = options.method.empty() ? asked_way(questions) : options.method;
  if (choice.method == "any") choice.method.clear();
  return choice;
}

Result<TeamChoice> choose(Questions questions, const InitOptions& options, const std::string& team, const Surroundings& at) {
  const auto given_or = [](const std::string& given, auto asked) { return given.empty() ? asked() : given; };
  if (!options.shared.root.empty()) return choose_shared(questions, options, team, at);
  const bool lead_lives =
      std::any_of(at.teams.begin(), at.teams.end(), [](const SeenTeam& one) { return one.has_lead_process; });
  TeamChoice choice;
  choice.team = given_or(team, [&] { return asked_team(questions, at); });
  if (choice.team == at.shared && !at.shared.empty()) return choose_shared(questions, options, team, at);
  choice.role = given_or(options.role, [&] {
    return questions.ask(
        "Who reads the lead's inbox?",
        {{"leader", "no other program (headless, or your own lead): requests are answered here, its mail is kept"},
         {"interceptor", "the lead's client (you sit at it): your rules answer first, all else stays its"},
         {"observer", "another program; only watch, and write nothing"}},
        lead_lives ? "interceptor" : "leader");
  });
  if (choice.role == "observer") return choice;
  choice.allow = given_or(options.allow, [&] {
    return questions.ask("What may workers do without asking you?",
                         {{"nothing", "nothing"},
                          {"read-only", "look: git status, diff, log, show, ls; read in their own folder"},
                          {"working", "work: edit in their own folder, search, build, test and commit as well"}},
                         "nothing");
  });
  if (choice.role == "interceptor") return choice;
  choice.method = given_or(options.method, [&] { return asked_way(questions); });
  if (choice.method == "any") choice.method.clear();
  return choice;
}

/// True when the daemon was started with files of its own, so that it does not read the file written here.
bool reads_elsewhere(const Surroundings& at) { return !at.read_by_daemon.files.empty() || !at.read_by_daemon.dir.empty(); }

/// Explains why this team cannot have a file of its own; empty when it can.
std::string conflict(const config::TeamSettings& wanted, const Surroundings& at) {
  std::vector<config::Loaded> all{config::load({}, at.environment)};
  if (reads_elsewhere(at)) all.push_back(config::load(at.read_by_daemon, at.environment));
  for (const config::Loaded& loaded : all)
    for (const config::LoadedTeam& team : loaded.teams)
    if (!loaded.unconfigured && team.config.team.root == wanted.root && (team.config.team.claims(wanted.name) || wanted.claims(team.config.team.name)))
      return team.config.source + " already configures team " + team.config.team.name +
             ": change that file, or move it away";
  return {};
}

std::string next_text(const TeamChoice& choice, const Surroundings& at) {
  std::string text = "Next:\n";
  if (reads_elsewhere(at))
    text += "    start the daemon again, without --config: the one that runs does not read " + printable(at.folder) + '\n';
  else
    text += at.has_daemon ? "    inbox-poller reload\n" : "    inbox-poller run\n";
  const bool by_hook = choice.role == "leader" && (choice.method.empty() || choice.method == "hook");
  if (by_hook && !at.has_hooks && !at.clients.empty()) text += "    inbox-poller hook install\n";
  if (choice.role == "interceptor" && !at.has_worker_hooks) text += "    inbox-poller hook install --target workers\n";
  if (choice.method == "stdin")
    text += "    inbox-poller lead run -- claude -p --input-format stream-json --output-format stream-json\n";
  if (choice.method == "socket") text += "    inbox-poller recv --follow --ack-from-stdin\n";
  if (choice.role != "observer" && choice.shared.empty()) text += "    inbox-poller pending --watch\n";
  return text;
}

ExitCode init(Context& context, const InitOptions& options) {
  const auto found = look_around_us(context, options.shared);
  if (!found) return context.fail(found.error());
  const Surroundings& at = *found;
  if (!context.json) {
    const ExitCode told = context.print(context.console.fit(surroundings_text(at)));
    if (told != ExitCode::done) return told;
  }
  const bool may_ask = !options.yes && !context.json && ::isatty(context.console.in()) != 0;
  if (!may_ask && context.team.empty() && at.teams.empty() && at.shared.empty())  // "every team" is not guessed
    return context.fail({"team.none", "no team exists yet, and no person can be asked: name it with --team NAME, or with "
                                      "--team '*' every team that comes"});
  const Result<TeamChoice> chosen = choose(Questions(context, may_ask), options, context.team, at);
  if (!chosen) return context.fail(chosen.error());
  const TeamChoice& choice = *chosen;
  const std::string path = at.folder + '/' + team_file_name(choice.team);
  const std::string text = team_file_text(choice);
  std::vector<std::string> problems;
  std::vector<std::string> warnings;
  const config::TeamSettings wanted =
      config::parse_team(text, path, at.environment, problems, warnings).config.team;
  if (!problems.empty()) return context.fail({"config.invalid", problems.front()});
  if (const std::string why = conflict(wanted, at); !why.empty()) return context.fail({"config.claimed", why});
  const auto names = team_names(at.teams);
  if (choice.shared.empty() && !wanted.is_glob() && std::ranges::find(names, wanted.name) == names.end()) {
    const std::string meant = schema::did_you_mean(wanted.name, names);
    const std::string absent = "team \"" + wanted.name + "\" does not exist below " + wanted.root + " yet" + meant;
    if (!meant.empty() && !may_ask)
      return context.fail({"team.unknown", absent + " Nothing was written; without --yes, a terminal asks about it"});
    context.console.complain(printable(absent));
  }
  ::umask(077);  // write access to a team file allows wider rules
  SettingsChange change;
  change.file = path;
  change.yes = options.yes;
  change.change = [&](const Settings& there) -> Result<std::optional<std::string>> {
    if (there.text) return Error{"config.claimed", "is there already: change it, or move it away"};
    return std::optional(text);
  };
  const ExitCode written = change_settings(context, change);
  if (written != ExitCode::done || context.json) return written;
  static_cast<void>(context.print("\n"));
  config::Sources written_to;  // the files to examine; the team file's place does not depend on it
  if (reads_elsewhere(at)) written_to.dir = at.folder;
  if (wanted.is_glob()) context.team.clear();  // `doctor` takes the name of one team
  const ExitCode examined = examine_all(context, written_to);
  const ExitCode printed = context.print('\n' + next_text(choice, at));
  return examined == ExitCode::usage ? examined : printed;  // errors, not warnings: a daemon may not run yet
}

// clang-format off
constexpr Argument init_takes[] = {
    takes<&InitOptions::role>("--role WORD", "leader, interceptor or observer").one_of("leader, interceptor, observer"),
    takes<&InitOptions::allow>("--allow WORD", "nothing; read-only: git status, diff, log, ls, reading; or working: edits, tests, commits")
        .one_of("nothing, read-only, working"),
    takes<&InitOptions::method>("--method WORD", "any, hook, stdin or socket: how the lead gets its mail").one_of("any, hook, stdin, socket"),
    takes_each<&InitOptions::shared, box_root>(),
    takes<&InitOptions::shared, &BoxPlace::actor>("--actor NAME", "With --root: whose mail is delivered (default: COLLAB_ACTOR)"),
    takes<&InitOptions::yes>("--yes", "Write without asking"),
};

constexpr Command init_rows[] = {
    {.name = "init", .group = Group::set_up, .summary = "Look at what is there, and write the first team file",
     .help = "Looks at the teams, the clients, tmux and hooks of this machine, and asks at most five questions: which\n"
             "team, who reads its lead's inbox, what workers may do unasked, how the lead gets its mail, and whether\n"
             "to write the file, which it shows. Then it runs `doctor`, and ends with 2 if that finds errors. Without a\n"
             "terminal a name that is nearly that of a team is refused. Options answer before anything is asked;\n"
             "with --yes nothing is, and what no option says is as suggested. Mail that agents share in a folder or a\n"
             "Redis (`inbox-poller mailbox`) is found in COLLAB_ROOT or scratch/coordination, or named with --root.",
     .examples = "inbox-poller init\n"
                 "inbox-poller init --root scratch/coordination --actor claude --yes\n"
                 "inbox-poller init --team demo --role interceptor --allow read-only --yes",
     .arguments = init_takes, .work = runs<init>},
};
// clang-format on

}  // namespace

std::span<const Command> init_commands() { return init_rows; }

}  // namespace inbox_poller::poller::cli
