#include "tests/sim/daemon.hpp"

#include <boost/asio/co_spawn.hpp>
#include <stdexcept>
#include <utility>

#include "poller/context/message_life.hpp"

namespace inbox_poller::sim {
namespace asio = boost::asio;
using namespace inbox_poller::poller;

std::unique_ptr<Ledger> Daemon::open_ledger(const std::string& path) {
  auto ledger = Ledger::open(path);
  if (!ledger) throw std::runtime_error(ledger.error().message);
  if (auto requeued = requeue_leased(**ledger); !requeued) throw std::runtime_error(requeued.error().message);
  return std::move(*ledger);
}

std::unique_ptr<Telemetry> Daemon::open_log(const std::string& path) {
  config::LogSettings log;
  log.file = path;
  auto telemetry = Telemetry::open(log);
  if (!telemetry) throw std::runtime_error(telemetry.error().message);
  return std::move(*telemetry);
}

config::TeamConfig Daemon::team_config(const std::string& root, const Rules& rules) {
  config::TeamConfig config;
  config.team.name = "t";
  config.team.root = root;
  config.team.watch = false;
  config.permissions.rules.allow.push_back(*config::parse_permission_rule("Bash(git status)"));
  config.permissions.rules.deny.push_back(*config::parse_permission_rule("Bash(rm:*)"));
  if (rules.makes) config.permissions.rules.allow.push_back(*config::parse_permission_rule("Bash(make:*)"));
  config.permissions.timeout = std::chrono::seconds(45);
  config.sandbox.hosts.allow.push_back(*config::parse_host_pattern("a.example"));
  config.sandbox.hosts.deny.push_back(*config::parse_host_pattern("b.example"));
  config.sandbox.timeout = std::chrono::seconds(45);
  config.plans.timeout = std::chrono::hours(10);
  config.modes.ceiling = config::PermissionMode::accept_edits;
  config.shutdown.remind_after = std::chrono::seconds(5);
  config.shutdown.timeout = std::chrono::seconds(30);
  config.compaction.entries = 30;
  config.compaction.after = std::chrono::seconds(20);
  config.cluster = rules.nodes;
  config.team.role = rules.may_lead ? config::Role::leader : config::Role::follower;
  if (rules.configure) rules.configure(config);
  return config;
}

Daemon::Daemon(const Home& home, std::uint64_t kill_in)
    : fate_(home.dice, kill_in),
      ledger_disk_((home.ledger_disk.serve(&fate_), home.ledger_disk)),
      files_(home.disk, fate_),
      processes_(home.panes, fate_),
      telemetry_(open_log(home.folder + "/log")),
      ledger_(open_ledger(home.folder + "/ledger.sqlite3")),
      quarantine_(files_, home.folder + "/quarantine"),
      commits_(*ledger_),
      services_{files_, *ledger_,  *telemetry_, clock_, commits_, quarantine_, processes_, context_.get_executor(),
                pool_,  "/home/u", home.folder},
      loop_(services_, {team_config(home.folder + "/teams", home.rules)}, manager_),
      verbs_(loop_, services_, home.folder + "/ledger.sqlite3",
             [this, root = home.folder + "/teams", &rules = home.rules] {
               return Result<ReloadReport>(loop_.reload({team_config(root, rules)}));
             }) {
  ledger_->tell([this](Areas areas) { services_.changes.raise(areas); });
  services_.open_panes = [this, &panes = home.panes, &terminal = home.terminal](const auto&) {
    return std::make_unique<SimPanes>(panes, terminal, fate_);
  };
  if (auto* network = home.network; network != nullptr)
    services_.open_broker = [this, network](const config::TeamConfig& team) -> Result<std::unique_ptr<Broker>> {
      return network->open(team.cluster.node, fate_, context_.get_executor());
    };
  ++running_;
  asio::co_spawn(context_, loop_.run(std::nullopt), [this](std::exception_ptr thrown) {
    --running_;
    failure_ = thrown;
  });
}

Daemon::~Daemon() {
  stop();
  pool_.join();
  ledger_->tell({});
}

std::string Daemon::failure() const {
  try {
    if (failure_) std::rethrow_exception(failure_);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

std::string Daemon::unsettled() const {
  for (const auto& [name, team] : loop_.teams()) {
    if (!team->shutdowns().open().empty()) return "a shutdown is open";
    const bool leads = team->context().membership.role == handlers::EffectiveRole::leader;
    if (leads && team->inbox_report().state == "not polled yet") return "the lead's inbox is not read";
  }
  return {};
}

std::optional<Span> Daemon::step(Span most) {
  const Waits waits(true);
  if (context_.stopped()) context_.restart();
  if (context_.run_one_until(Waits::now() + most) > 0) return std::nullopt;  // clock: virtual time
  return Waits::refused().value_or(most);
}

void Daemon::stop() {
  const Waits waits(false);
  fate_.meanwhile = {};
  fate_.pause = {};
  fate_.kill_in = 0;
  // A dead daemon is taken apart in no time, and without any effect on the world.
  const Span before = now();
  loop_.stop();
  std::vector<Session> open;
  for (const auto& line : lines_) open.push_back(line.session);
  for (const auto& session : open) hang_up(session);
  constexpr int enough = 1'000'000;
  for (int turns = 0; running_ > 0; ++turns) {
    if (turns == enough) throw std::runtime_error("the daemon does not end");
    if (context_.stopped()) context_.restart();
    context_.run_one_for(std::chrono::seconds(1));  // clock: virtual time
  }
  if (fate_.is_dead) set_now(before);
}

Daemon::Session Daemon::connect() {
  auto session = std::make_shared<ControlSession>();
  lines_.push_back({session});
  return session;
}

Daemon::Line* Daemon::line_of(const Session& session) {
  for (auto& line : lines_)
    if (line.session == session) return &line;
  return nullptr;
}

void Daemon::end_line(const Session& session) {
  const auto* line = line_of(session);
  if (line == nullptr || !session->closed || line->requests > 0) return;
  std::erase_if(lines_, [&](const Line& one) { return one.session == session; });
  for (const auto& requeue : std::exchange(session->on_close, {})) requeue();
}

void Daemon::hang_up(const Session& session) {
  if (line_of(session) == nullptr) return;
  session->close();
  end_line(session);
}

void Daemon::ask(boost::json::object request, const Session& session,
                 std::function<void(const boost::json::object&)> answer) {
  auto* line = line_of(session);
  if (line == nullptr) return;
  ++running_;
  ++line->requests;
  asio::co_spawn(context_, verbs_.handle(std::move(request), session),
                 [this, session, answer = std::move(answer)](std::exception_ptr thrown, boost::json::object value) {
                   --running_;
                   if (thrown && !failure_) failure_ = thrown;
                   if (!thrown && !fate_.is_dead && !session->closed) answer(value);
                   --line_of(session)->requests;
                   end_line(session);
                 });
}

}  // namespace inbox_poller::sim
