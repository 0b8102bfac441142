#include "tests/sim/machine.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <utility>

#include "tests/sim/peers.hpp"
#include "tests/sim/world.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Span restart_after = seconds(1);

/// True until the end of a scope.
class Busy {
 public:
  explicit Busy(bool& flag) : flag_(flag) { flag_ = true; }
  ~Busy() { flag_ = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool& flag_;
};

}  // namespace

/// A connection, valid in one life of the daemon.
class Machine::Line {
 public:
  Line(int life, Daemon::Session session) : life_(life), session_(std::move(session)) {}
  [[nodiscard]] int life() const { return life_; }
  [[nodiscard]] const Daemon::Session& session() const { return session_; }

 private:
  int life_;
  Daemon::Session session_;
};

Machine::Machine(World& world, std::string name, std::string folder, std::vector<std::string> workers, int number)
    : world_(world),
      name_(std::move(name)),
      folder_(std::move(folder)),
      workers_(std::move(workers)),
      number_(number),
      ledger_disk_(folder_) {
  std::filesystem::create_directories(root());
  files_of_team_ = make_team_files(world_.system(), *this, root());
  rules_.configure = [this](config::TeamConfig& config) { files_of_team_->configure(config); };
  disk_.make_folders(folder_ + "/quarantine");
  files_of_team_->make();
  disk_.sync_all();
  disk_.on_stolen_lock = [this](const std::string& path, Span age) {
    oracle().violated("the daemon removed a lock of a peer that was " + std::to_string(age / milliseconds(1)) +
                      " ms old: " + path);
  };
}

Machine::~Machine() { stop(); }

void Machine::stop() {
  const Inside inside(host_);
  daemon_.reset();
}

Dice& Machine::dice() { return world_.dice(); }
Oracle& Machine::oracle() { return world_.oracle(); }
const Profile& Machine::profile() const { return world_.profile(); }
void Machine::trace(const std::string& line) { world_.trace(world_.is_alone() ? line : name_ + " " + line); }
bool Machine::has(const std::string& part) const { return world_.has(part); }
std::uint64_t Machine::peer_dies_one_in() const { return has("deaths") ? profile().peer_dies_one_in : 0; }
bool Machine::is_troubled() const { return world_.is_troubled(); }
const std::vector<std::string>& Machine::team() const { return world_.team(); }
std::string Machine::log() const { return test::slurp(folder_ + "/log"); }

int Machine::life() const { return daemon_ && !daemon_->fate().is_dead ? lives_ : 0; }

bool Machine::take_due(Steps& steps) {
  bool any = false;
  while (!steps.empty() && steps.begin()->first <= now()) {
    const auto step = std::move(steps.begin()->second);
    steps.erase(steps.begin());
    step();
    any = true;
  }
  return any;
}

// --- connections ---

std::shared_ptr<Machine::Line> Machine::connect() {
  return std::make_shared<Line>(life(), life() == 0 ? nullptr : daemon_->connect());
}

void Machine::ask(const std::shared_ptr<Line>& line, json::object request, Answer answer) {
  if (line->life() == 0 || line->life() != life()) return;
  daemon_->ask(std::move(request), line->session(), std::move(answer));
}

void Machine::hang_up(const std::shared_ptr<Line>& line) {
  if (line && line->life() != 0 && line->life() == life()) daemon_->hang_up(line->session());
}

// --- the team's files ---

bool Machine::made_lock(const std::string& path) const { return daemon_ && daemon_->made_lock(path); }

void Machine::change_rules() {
  rules_.makes = !rules_.makes;
  oracle().make_may_be_ruled = true;
  for (auto& [id, request] : oracle().requests)
    if (request.rule == Request::Rule::none && request.kind == Request::Kind::permission) request.may_be_ruled = true;
  trace(rules_.makes ? "a rule allows make" : "no rule allows make");
  ask(connect(), {{"verb", "reload"}}, [](const json::object&) {});
}

long long Machine::joined_ms(const std::string& name) const {
  const auto found = joined_ms_.find(name);
  return found == joined_ms_.end() ? system_ms() : found->second;
}

std::string Machine::pane_of(const std::string& name) const {
  const auto found = pane_of_.find(name);
  return found == pane_of_.end() || !has("panes") ? std::string() : found->second;
}

void Machine::rival_took(const std::string& text) {
  trace("another consumer takes " + text.substr(0, 60));
  if (const auto found = oracle().chat.find(text); found != oracle().chat.end() && !found->second.owed)
    found->second.by_rival = true;
  boost::system::error_code bad;
  const auto payload = json::parse(text, bad);
  if (bad || !payload.is_object()) return;
  for (const char* name : {"request_id", "requestId"})
    if (const auto* id = payload.as_object().if_contains(name))
      if (const auto found = oracle().requests.find(std::string(id->as_string())); found != oracle().requests.end())
        found->second.left = true;
}

void Machine::note_marks() {
  noted_at_ = now();
  files_of_team_->note_marks();
}

void Machine::check_files() {
  const Inside inside(host_);
  files_of_team_->check();
}

std::string Machine::unsettled() {
  if (life() == 0) return "the daemon is down";
  for (const auto& peer : peers_)
    if (const auto what = peer->unsettled(); !what.empty()) return what;
  if (const auto what = daemon_->unsettled(); !what.empty()) return what;
  return files_of_team_->unread();
}

void Machine::repair_files() {
  const Inside inside(host_);
  files_of_team_->repair();
}

// --- the daemon's lives ---

void Machine::start() {
  const Inside inside(host_);
  const Busy busy(is_busy_);
  start_daemon();
  for (const auto& peer : peers_) peer->start();
}

void Machine::start_daemon() {
  ++lives_;
  host_.process = number_ * 100'000 + lives_;
  const bool may_die = is_troubled() && profile().crash_every.count() > 0 && has("kills");
  const auto kill_in = may_die && dice().one_in(6) ? 1 + dice().below(400) : 0;
  try {
    daemon_ = std::make_unique<Daemon>(
        Home{disk_, ledger_disk_, dice(), folder_, rules_, panes_, terminal_, world_.network()}, kill_in);
  } catch (const std::exception& error) {
    ledger_disk_.serve(nullptr);
    std::string why = error.what();
    if (const auto at = why.find(folder_); at != std::string::npos)  // another one in each run
      why.replace(at, folder_.size(), "FOLDER");
    trace("the daemon did not start: " + why);
    if (kill_in == 0) oracle().violated("no start: " + why);
    oracle().cause();
    return talk_after(restart_after, [this] { start_daemon(); });
  }
  trace("the daemon starts");
  auto& fate = daemon_->fate();
  fate.meanwhile = [this] {
    if (std::exchange(in_peers_, true)) return;
    take_due(files_);
    in_peers_ = false;
  };
  if (!world_.is_alone()) fate.pause = [this](Span span) { world_.let_others_go_on(span); };
  if (is_troubled()) upset_daemon();
}

/// Lets the dice decide over the daemon until the episode's faults stop.
void Machine::upset_daemon() {
  auto& fate = daemon_->fate();
  if (has("errors")) fate.error_one_in = profile().error_one_in;
  if (has("pauses")) fate.pause_one_in = profile().pause_one_in;
  if (profile().crash_every.count() == 0 || !has("kills")) return;
  talk_after(dice().between({}, profile().crash_every * 2), [this, life = lives_] {
    if (life == this->life() && is_troubled()) daemon_->fate().kill_in = 1 + dice().below(60);
  });
}

void Machine::end_daemon(bool may_stay_down) {
  daemon_->fate().meanwhile = {};
  daemon_.reset();
  ledger_disk_.serve(nullptr);
  // Another machine may lead only if this one is away for long.
  const bool stays_down = may_stay_down && !world_.is_alone() && dice().one_in(3);
  talk_after(stays_down ? dice().between(seconds(5), seconds(40)) : restart_after, [this] { start_daemon(); });
}

void Machine::crash(bool power) {
  trace(power ? "the power fails" : "the daemon is killed");
  oracle().cause();
  note_marks();
  end_daemon(is_troubled());
  if (!power) return;
  oracle().lost_power();
  files_of_team_->lose_power();
  ledger_disk_.lose_power(dice());
  for (const auto& peer : peers_) peer->lose_power();
}

void Machine::begin_trouble() {
  const Inside inside(host_);
  if (daemon_) upset_daemon();
  if (profile().trouble_every.count() > 0) talk_after(profile().trouble_every, [this] { cause_trouble(); });
}

void Machine::cause_trouble() {
  if (!is_troubled()) return;
  talk_after(dice().between({}, profile().trouble_every * 2), [this] { cause_trouble(); });
  const auto kind = dice().below(4);
  constexpr const char* names[] = {"full", "jumps", "stops", "still"};
  if (life() == 0 || !has(names[kind])) return;
  auto& fate = daemon_->fate();
  switch (kind) {
    case 0:
      trace("the disk is full");
      oracle().is_upset = true;
      fate.disk_is_full = true;
      return talk_after(dice().between(seconds(1), seconds(8)), [this] {
        if (daemon_) daemon_->fate().disk_is_full = false;
        oracle().is_upset = false;
        oracle().cause();
      });
    case 1:
      host_.clock_error = dice().between(-seconds(4000), seconds(4000));
      oracle().clock_jumped = true;  // deadlines go over a restart by this clock
      oracle().cause();              // peers judge locks by this clock
      return trace("the system clock jumps");
    case 2:
      trace("the daemon ends in order");
      oracle().cause();
      daemon_->stop();
      note_marks();
      return end_daemon(true);
    default: {
      const auto pause = dice().between(seconds(1), seconds(30));
      if (world_.is_alone())
        pass(pause);
      else
        still_until_ = now() + pause;
      trace("the machine stands still");
    }
  }
}

void Machine::end_trouble() {
  const Inside inside(host_);
  still_until_ = {};
  if (daemon_) {
    auto& fate = daemon_->fate();
    fate.kill_in = fate.error_one_in = fate.pause_one_in = 0;
    fate.disk_is_full = false;
  }
  repair_files();
  if (oracle().has_rival) ask(connect(), {{"verb", "resume"}, {"team", "t"}}, [](const json::object&) {});
}

Span Machine::next_step() const {
  auto next = Span::max();
  if (!files_.empty()) next = std::min(next, files_.begin()->first);
  if (!talks_.empty()) next = std::min(next, talks_.begin()->first);
  return next;
}

Span Machine::wakes_at() const {
  if (now() < still_until_) return still_until_;
  return daemon_ ? std::min(next_step(), daemon_wakes_) : next_step();
}

bool Machine::act(Span end) {
  const Inside inside(host_);
  const Busy busy(is_busy_);
  bool acted = take_due(files_);
  acted = take_due(talks_) || acted;
  if (!daemon_) return acted;
  if (const auto next = std::min(end, next_step()); !daemon_->fate().is_dead && now() < next) {
    const auto rests = daemon_->step(next - now());
    acted = acted || !rests;
    daemon_wakes_ = now() + rests.value_or(Span());
  }
  if (now() - noted_at_ > seconds(3)) note_marks();
  if (std::exchange(daemon_->fate().errors, 0) > 0) oracle().cause();
  if (daemon_->fate().is_dead) {
    crash(is_troubled() && has("power") && dice().one_in(profile().power_one_in));
    return true;
  }
  if (daemon_->has_failed()) {
    if (profile().error_one_in == 0) oracle().violated("the daemon ended by itself: " + daemon_->failure());
    crash(false);
    return true;
  }
  return acted;
}

}  // namespace inbox_poller::sim
