#include "poller/run/daemon.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "poller/control/server.hpp"
#include "poller/control/service.hpp"
#include "poller/ledger/ledger.hpp"
#include "poller/run/poll_loop.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr int exit_drained = 0;
constexpr int exit_fault = 1;
constexpr int exit_configuration = 2;

void complain(const std::string& text) { std::fprintf(stderr, "inbox-poller: %s\n", text.c_str()); }

Result<std::unique_ptr<Ledger>> open_ledger(const std::string& path, bool new_ledger, Telemetry& telemetry) {
  auto ledger = Ledger::open(path);
  if (ledger || !new_ledger || ledger.error().code != "ledger.damaged") return ledger;
  auto aside = Ledger::set_aside(path, SystemClock().wall_ms());
  if (!aside) return aside.error();
  telemetry.emit(Event::daemon_warning,
                 {{"path", *aside}, {"reason", "the damaged ledger was set aside; starting with a new one"}});
  return Ledger::open(path);
}

/// Everything that lives while the daemon runs, in the order of dependence.
class Daemon {
 public:
  Daemon(const config::DaemonConfig& config, std::vector<config::TeamConfig> teams, Telemetry& telemetry,
         Ledger& ledger, std::string home)
      : config_(config),
        teams_(std::move(teams)),
        telemetry_(telemetry),
        quarantine_(files_, config.state_dir + "/quarantine"),
        services_{files_, ledger, telemetry, clock_, quarantine_, context_.get_executor(), pool_, std::move(home)},
        loop_(services_, teams_, manager_),
        service_(loop_, services_, config.state_dir + "/ledger.sqlite3"),
        tasks_(context_.get_executor(), [this] { stop(); }),
        signals_(context_, SIGINT, SIGTERM, SIGHUP) {}

  Status bind() {
    auto handler = [this](boost::json::object request, std::shared_ptr<ControlSession> session) {
      return service_.handle(std::move(request), std::move(session));
    };
    auto report = [this](const Error& problem) {
      telemetry_.emit(Event::control_problem, {{"code", problem.code}, {"reason", problem.message}});
      if (problem.code != "control.exception") return;
      failure_ =
          "a command on the control socket threw: " + problem.message;  // ours, and unforeseen: leave in good order
      stop();
    };
    auto server = ControlServer::bind(context_.get_executor(), config_.socket, std::move(handler), std::move(report));
    if (!server) return server.error();
    server_ = std::move(*server);
    telemetry_.emit(Event::control_listening, {{"path", config_.socket}});
    return Done{};
  }

  /// Runs to the end; throws what a task threw.
  void run(std::optional<unsigned> polls) {
    tasks_.spawn(poll(polls));
    tasks_.spawn(server_->serve());
    auto end = finish();
    std::exception_ptr failure;
    asio::co_spawn(context_, std::move(end), [&](std::exception_ptr thrown) { failure = thrown; });
    signals_.async_wait([this](boost::system::error_code error, int number) {
      if (error) return;
      telemetry_.emit(Event::daemon_stopping, {{"reason", "signal " + std::to_string(number)}});
      stop();
    });
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
      signals_.cancel();
      throw;
    }
    signals_.cancel();  // nothing is left to wait for
  }

  void stop() {
    manager_.stopping();
    loop_.stop();
    if (server_) server_->stop();
  }

  const config::DaemonConfig& config_;
  const std::vector<config::TeamConfig> teams_;
  Telemetry& telemetry_;
  asio::io_context context_{1};
  asio::thread_pool pool_{2};
  PosixFileSystem files_;
  SystemClock clock_;
  ServiceManager manager_;
  Quarantine quarantine_;
  Services services_;
  PollLoop loop_;
  Service service_;
  TaskGroup tasks_;
  asio::signal_set signals_;
  std::unique_ptr<ControlServer> server_;
  std::string failure_;
};

int serve(const config::DaemonConfig& config, const config::Loaded& loaded, const RunOptions& options,
          Telemetry& telemetry) {
  const auto fault = [&](const std::string& reason) {
    telemetry.emit(Event::daemon_fault, {{"reason", reason}});
    return exit_fault;
  };
  PosixFileSystem files;
  if (auto dir = ensure_private_dir(files, config.state_dir); !dir) return fault(dir.error().message);
  auto ledger = open_ledger(config.state_dir + "/ledger.sqlite3", options.new_ledger, telemetry);
  if (!ledger) return fault(ledger.error().message);
  // What was lent out when we died is offered again, labelled as a possible repeat.
  if (auto requeued = (*ledger)->transaction([&] { return (*ledger)->requeue_all_offered(); }); !requeued)
    return fault(requeued.error().message);

  std::vector<config::TeamConfig> teams;
  for (const auto& team : loaded.teams) teams.push_back(team.config);
  try {
    Daemon daemon(config, std::move(teams), telemetry, **ledger, config::Environment::from_process().home);
    if (auto bound = daemon.bind(); !bound) return fault(bound.error().message);
    telemetry.emit(Event::daemon_started, {{"version", INBOX_POLLER_VERSION},
                                           {"pid", std::to_string(::getpid())},
                                           {"path", config.state_dir + "/ledger.sqlite3"},
                                           {"count", std::to_string(loaded.teams.size())}});
    daemon.run(options.polls);
  } catch (const std::exception& failure) {
    return fault(failure.what());
  }
  telemetry.emit(Event::daemon_stopped, {{"reason", "drained"}});
  return exit_drained;
}

}  // namespace

int run_daemon(const RunOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  ::umask(077);
  const auto environment = config::Environment::from_process();
  const auto loaded = config::load(options.sources, environment);
  for (const auto& problem : loaded.problems) std::fprintf(stderr, "%s\n", problem.c_str());
  if (!loaded.problems.empty()) return exit_configuration;
  if (loaded.teams.empty()) {
    complain(
        "no team is configured: name a file with --config, or put one into the folder that --config-dir (default "
        "~/.config/inbox-poller/teams.d) names. deploy/examples has some to start from.");
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
  return serve(config, loaded, options, **telemetry);
}

}  // namespace inbox_poller::poller
