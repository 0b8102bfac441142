#include "poller/daemon.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>

#include "poller/context/message_life.hpp"
#include "poller/control/known_socket.hpp"
#include "poller/control/server.hpp"
#include "poller/broker/open_broker.hpp"
#include "poller/control/verbs.hpp"
#include "poller/ledger/ledger.hpp"
#include "poller/processes.hpp"
#include "poller/run/poll_loop.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr int exit_drained = 0;
constexpr int exit_fault = 1;
constexpr int exit_configuration = 2;
constexpr int exit_ledger_gone = 6;

constexpr const char* no_team =
    "no team is configured: name a file with --config, or put one into the folder that --config-dir (default "
    "~/.config/inbox-poller/teams.d) names. deploy/examples has some to start from.";

void complain(const std::string& text) { std::fprintf(stderr, "inbox-poller: %s\n", text.c_str()); }

std::string joined(const std::vector<std::string>& texts, const std::string& between) {
  std::string all;
  for (const auto& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

std::vector<config::TeamConfig> teams_of(const config::Loaded& loaded) {
  std::vector<config::TeamConfig> teams;
  for (const auto& team : loaded.teams) teams.push_back(team.config);
  return teams;
}

/// Lists changed settings of the daemon that only a restart applies.
std::vector<std::string> fixed_settings_changed(const config::DaemonConfig& old, const config::DaemonConfig& fresh) {
  std::vector<std::string> changed;
  if (old.state_dir != fresh.state_dir) changed.emplace_back("state_dir");
  if (old.socket != fresh.socket) changed.emplace_back("socket");
  if (old.log.file != fresh.log.file) changed.emplace_back("log.file");
  if (old.log.format != fresh.log.format) changed.emplace_back("log.format");
  return changed;
}

std::string summary(const ReloadReport& report) {
  std::string text;
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += (text.empty() ? "" : "; ") + std::string(what) + ": " + joined(names, ", ");
  };
  add("added", report.added);
  add("removed", report.removed);
  add("changed", report.changed);
  add("holds after a restart", report.restart);
  if (!report.answered.empty())
    text += (text.empty() ? "" : "; ") + std::to_string(report.answered.size()) + " open requests answered by rule";
  return text.empty() ? "no team changed" : text;
}

Result<std::unique_ptr<Ledger>> open_ledger(const std::string& path, bool new_ledger, Telemetry& telemetry) {
  const auto tell = [&](const std::string& aside, const std::string& why) {
    telemetry.emit(Event::ledger_set_aside,
                   {{"path", aside},
                    {"reason", path + ", its -wal and its -shm were renamed to this name, because " + why +
                                   "; a new ledger begins"}});
  };
  auto ledger = Ledger::open(path);
  if (ledger && (*ledger)->older()) tell((*ledger)->older()->path, (*ledger)->older()->why);
  if (ledger && (*ledger)->was_saved())
    telemetry.emit(Event::ledger_saved, {{"path", path},
                                         {"reason",
                                          "the ledger was taken away while an earlier daemon used it; what that had "
                                          "saved is the ledger again, and nothing is missing"}});
  if (ledger || !new_ledger || (ledger.error().code != "ledger.damaged" && ledger.error().code != "ledger.saved"))
    return ledger;
  TRY(auto aside, Ledger::set_aside(path, SystemClock().wall_ms()));
  tell(aside, ledger.error().code == "ledger.damaged" ? "it is damaged and --new-ledger was given"
                                                      : "it has a saved ledger beside it and --new-ledger was given");
  return Ledger::open(path);
}

/// The reaction to a removed ledger file: its contents are saved, and one log line reports everything.
class GoneLedger {
 public:
  GoneLedger(Ledger& ledger, Telemetry& telemetry) : ledger_(ledger), telemetry_(telemetry) {}

  /// True when the ledger is gone. The first such call saves and reports it.
  bool is_told() {
    const auto there = ledger_.still_there();
    if (there || there.error().code != "ledger.gone") return false;
    if (std::exchange(told_, true)) return true;
    const auto saved = ledger_.save();
    const std::string next = saved ? "What was committed is in " + saved->path + ". " + saved->next
                                   : "What was committed could not be saved: " + saved.error().message +
                                         "; put the ledger back, or a copy of it, before you start the daemon";
    telemetry_.emit(Event::ledger_gone, {{"code", saved ? "ledger.gone" : saved.error().code},
                                         {"path", saved ? saved->path : ""},
                                         {"reason", there.error().message + ". " + next}});
    return true;
  }

 private:
  Ledger& ledger_;
  Telemetry& telemetry_;
  bool told_ = false;
};

/// Returns the daemon's sources as absolute paths, for commands in other directories and environments.
config::Sources absolute_sources(config::Sources sources) {
  const auto absolute = [](std::string& path) {
    std::error_code problem;
    const auto whole = std::filesystem::absolute(path, problem);
    if (!path.empty() && !problem) path = whole.lexically_normal().string();
  };
  if (sources.files.empty() && sources.dir.empty()) sources.dir = config::team_folder(config::Environment::from_process());
  for (std::string& file : sources.files) absolute(file);
  absolute(sources.dir);
  absolute(sources.daemon_file);
  return sources;
}

/// All objects that live while the daemon runs, in the order of their dependencies.
class Daemon {
 public:
  /// Builds the daemon. `config`: the effective settings; `loaded`: those of the files, without the command line.
  Daemon(const config::DaemonConfig& config, const config::Loaded& loaded, const RunOptions& options,
         Telemetry& telemetry, Ledger& ledger, GoneLedger& gone)
      : config_(config),
        written_(loaded.daemon),
        unconfigured_(loaded.unconfigured),
        options_(options),
        telemetry_(telemetry),
        ledger_(ledger),
        quarantine_(files_, config.state_dir + "/quarantine"),
        commits_(ledger),
        services_{files_,     ledger,
                  telemetry,  clock_,
                  commits_,   quarantine_,
                  processes_, context_.get_executor(),
                  pool_,      config::Environment::from_process().home,
                  config.state_dir},
        loop_(services_, teams_of(loaded), manager_),
        verbs_(loop_, services_, config.state_dir + "/ledger.sqlite3", [this] { return reload(); }),
        tasks_(context_.get_executor(), [this] { stop(); }),
        stop_signals_(context_, SIGINT, SIGTERM),
        reload_signals_(context_, SIGHUP) {
    verbs_.tell_sources(absolute_sources(options.sources));
    ledger.tell([this](Areas areas) { services_.changes.raise(areas); });
    ledger.on_gone([this, &gone] {
      asio::post(context_, [this, &gone] {
        if (gone.is_told()) stop();
      });
    });
    loop_.look_after([this] {
      telemetry_.keep_file();
      if (!ledger_.still_there()) return;  // the lost directory may be the socket's too
      if (server_) server_->keep_place();
    });
    services_.open_broker = [executor = context_.get_executor()](const config::TeamConfig& team) {
      return open_broker(executor, team.cluster);
    };
  }

  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon() { ledger_.on_gone({}); }

  Status bind() {
    auto handler = [this](boost::json::object request, std::shared_ptr<ControlSession> session) {
      return verbs_.handle(std::move(request), std::move(session));
    };
    auto report = [this](const Error& problem) {
      telemetry_.emit(Event::control_problem, {{"code", problem.code}, {"reason", problem.message}});
      if (problem.code != "control.exception") return;
      failure_ =
          "a command on the control socket threw: " + problem.message;  // a bug of this program: end in order
      stop();
    };
    known_at_.emplace(config_);
    TRY(auto server,
        ControlServer::bind(context_.get_executor(), config_.socket, std::move(handler), std::move(report)));
    server_ = std::move(server);
    telemetry_.emit(Event::control_listening, {{"path", config_.socket}});
    return Done{};
  }

  /// Runs until the end; throws the first error of a task.
  void run(std::optional<unsigned> polls) {
    tasks_.spawn(poll(polls));
    tasks_.spawn(server_->serve());
    auto end = finish();
    std::exception_ptr failure;
    asio::co_spawn(context_, std::move(end), [&](std::exception_ptr thrown) { failure = thrown; });
    stop_signals_.async_wait([this](boost::system::error_code error, int number) {
      if (error) return;
      telemetry_.emit(Event::daemon_stopping, {{"reason", "signal " + std::to_string(number)}});
      stop();
    });
    reload_when_told();
    context_.run();
    pool_.join();
    if (failure) std::rethrow_exception(failure);
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }

 private:
  asio::awaitable<void> poll(std::optional<unsigned> polls) {
    co_await loop_.run(polls);
    stop();
  }

  asio::awaitable<void> finish() {
    try {
      co_await tasks_.join();
    } catch (...) {
      ignore_signals();
      throw;
    }
    ignore_signals();  // nothing is left to wait for
  }

  /// Ignores signals from now on. Blocks them before the sets are destroyed, because that restores the default action.
  /// A second SIGTERM would then turn a clean exit into a death.
  void ignore_signals() {
    sigset_t ours;
    sigemptyset(&ours);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ours, number);
    ::pthread_sigmask(SIG_BLOCK, &ours, nullptr);
    stop_signals_.cancel();
    reload_signals_.cancel();
  }

  void reload_when_told() {
    reload_signals_.async_wait([this](boost::system::error_code error, int) {
      if (error) return;
      static_cast<void>(reload());  // the log reports errors
      reload_when_told();
    });
  }

  /// Applies the configuration completely or not at all: with any error in any file nothing changes.
  Result<ReloadReport> reload() {
    auto loaded = config::load(options_.sources, config::Environment::from_process());
    if (loaded.problems.empty() && loaded.teams.empty()) loaded.problems.emplace_back(no_team);
    if (loaded.unconfigured && !unconfigured_)  // served teams are not dropped because all files are missing
      loaded.problems.push_back(config::team_folder(config::Environment::from_process()) +
                                ": holds no team file any more; to watch all teams instead, restart the daemon");
    for (const auto& problem : loaded.problems) telemetry_.emit(Event::daemon_reload_refused, {{"reason", problem}});
    if (!loaded.problems.empty()) return Error{"config.refused", joined(loaded.problems, "\n")};

    for (const auto& warning : loaded.warnings) telemetry_.emit(Event::daemon_warning, {{"reason", warning}});
    unconfigured_ = loaded.unconfigured;
    if (!options_.log_level) telemetry_.set_level(loaded.daemon.log.level);
    auto report = loop_.reload(teams_of(loaded));
    report.restart = fixed_settings_changed(written_, loaded.daemon);
    for (const auto& odd : report.warnings) telemetry_.emit(Event::daemon_warning, {{"reason", odd}});
    report.warnings.insert(report.warnings.end(), loaded.warnings.begin(), loaded.warnings.end());
    telemetry_.emit(Event::daemon_reloaded,
                    {{"count", std::to_string(loaded.teams.size())}, {"reason", summary(report)}});
    return report;
  }

  void stop() {
    manager_.stopping();
    loop_.stop();
    if (server_) server_->stop();
  }

  const config::DaemonConfig& config_;
  const config::DaemonConfig& written_;
  bool unconfigured_;
  const RunOptions& options_;
  Telemetry& telemetry_;
  Ledger& ledger_;
  asio::io_context context_{1};
  asio::thread_pool pool_{1};  // one: if a second thread cannot start, Asio 1.81 waits for the first without end
  PosixFileSystem files_;
  SystemClock clock_;
  SystemProcesses processes_;
  SystemManager manager_;
  Quarantine quarantine_;
  GroupCommit commits_;
  Runtime services_;
  PollLoop loop_;
  Verbs verbs_;
  TaskGroup tasks_;
  asio::signal_set stop_signals_;
  asio::signal_set reload_signals_;
  std::unique_ptr<ControlServer> server_;
  std::optional<KnownSocket> known_at_;
  std::string failure_;
};

/// Returns the text for a person who started the daemon by hand.
std::string welcome_text(const config::Loaded& loaded) {
  constexpr std::size_t most_names = 60;
  std::string names;
  std::size_t left = loaded.teams.size();
  for (const config::LoadedTeam& team : loaded.teams) {
    const config::TeamSettings& one = team.config.team;
    const std::string more = (one.name == "*" ? "every team" : one.name) + " (" + std::string(to_string(one.role)) + ')';
    if (!names.empty() && names.size() + more.size() > most_names) break;
    names += (names.empty() ? "" : ", ") + more;
    --left;
  }
  if (left > 0) names += " and " + std::to_string(left) + " more";
  return "InboxPoller " INBOX_POLLER_VERSION " looks after " + schema::printable(names) +
         ".\nIn another terminal: `inbox-poller status`, and `inbox-poller pending` for what waits for you."
         "\nCtrl-C ends it, and nothing is lost. What happens, line by line:";
}

/// Serves with an open ledger until the end; throws the first error.
void serve_from(Ledger& ledger, GoneLedger& gone, const config::DaemonConfig& config, const config::Loaded& loaded,
                const RunOptions& options, Telemetry& telemetry) {
  if (auto requeued = requeue_leased(ledger); !requeued) throw std::runtime_error(requeued.error().message);
  Daemon daemon(config, loaded, options, telemetry, ledger, gone);
  if (auto bound = daemon.bind(); !bound) throw std::runtime_error(bound.error().message);
  telemetry.emit(Event::daemon_started, {{"version", INBOX_POLLER_VERSION},
                                         {"pid", std::to_string(::getpid())},
                                         {"path", config.state_dir + "/ledger.sqlite3"},
                                         {"count", std::to_string(loaded.teams.size())}});
  telemetry.welcome(welcome_text(loaded));
  daemon.run(options.polls);
  // A last commit into a removed ledger file must not pass for a clean end.
  if (auto there = ledger.still_there(); !there) throw std::runtime_error(there.error().message);
}

/// Serves until the end and returns the exit code; throws the first error.
int serve(const config::DaemonConfig& config, const config::Loaded& loaded, const RunOptions& options,
          Telemetry& telemetry) {
  PosixFileSystem files;
  if (auto dir = ensure_private_dir(files, config.state_dir); !dir) throw std::runtime_error(dir.error().message);
  auto ledger = open_ledger(config.state_dir + "/ledger.sqlite3", options.new_ledger, telemetry);
  if (!ledger) throw std::runtime_error(ledger.error().message);
  if ((*ledger)->is_new())
    telemetry.emit(Event::ledger_begun, {{"path", config.state_dir + "/ledger.sqlite3"},
                                         {"reason", "there was no ledger; what an earlier one knew is not known to this one"}});
  GoneLedger gone(**ledger, telemetry);
  try {
    serve_from(**ledger, gone, config, loaded, options, telemetry);
  } catch (const std::exception&) {
    if (gone.is_told()) return exit_ledger_gone;
    throw;
  }
  return exit_drained;
}

/// Raises the limit of open files: a scan of a full maildir holds 500 messages of each team open. The lower limit is
/// enough for one team.
void raise_limit_of_open_files() {
  constexpr rlim_t enough = 8192;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough) return;
  limit.rlim_cur = std::min(limit.rlim_max, enough);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int run_daemon(const RunOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGIO, SIG_IGN);  // sent when a held lease is wanted; the default action ends the process
  ::umask(077);
  raise_limit_of_open_files();
  const auto environment = config::Environment::from_process();
  const auto loaded = config::load(options.sources, environment);
  for (const auto& problem : loaded.problems) std::fprintf(stderr, "%s\n", problem.c_str());
  if (!loaded.problems.empty()) return exit_configuration;
  if (loaded.teams.empty()) {
    complain(no_team);
    return exit_configuration;
  }
  auto config = loaded.daemon;
  if (!options.socket.empty()) config.socket = options.socket;
  if (options.log_level) config.log.level = *options.log_level;
  if (options.log_format) config.log.format = *options.log_format;
  auto telemetry = Telemetry::open(config.log);
  if (!telemetry) {
    complain(telemetry.error().message);
    return exit_fault;
  }
  for (const auto& warning : loaded.warnings) (*telemetry)->emit(Event::daemon_warning, {{"reason", warning}});
  int code = exit_drained;
  try {
    code = serve(config, loaded, options, **telemetry);
  } catch (const std::exception& failure) {
    (*telemetry)->emit(Event::daemon_fault, {{"reason", failure.what()}});
    if (!config.log.file.empty()) complain(failure.what());  // for the person who started it
    return exit_fault;
  }
  (*telemetry)->emit(Event::daemon_stopped, {{"reason", code == exit_drained ? "drained" : "the ledger is gone"}});
  return code;
}

}  // namespace inbox_poller::poller
