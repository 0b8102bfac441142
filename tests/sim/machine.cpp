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

constexpr const char* lead = "team-lead";
constexpr Span restart_after = seconds(1);

json::object member(const std::string& name) {
  return {{"agentId", name + "@t"}, {"name", name}, {"joinedAt", system_ms()}};
}

std::string roster_of(const std::vector<std::string>& names) {
  json::array members;
  for (const auto& name : names) members.push_back(member(name));
  return json::serialize(
      json::object{{"name", "t"}, {"leadAgentId", "team-lead@t"}, {"leadSessionId", "s"}, {"members", members}});
}

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
  disk_.make_folders(root() + "/t/inboxes");
  disk_.make_folders(folder_ + "/quarantine");
  disk_.write(roster(), roster_of(boxes()));
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
void Machine::busy_for(Span span) { world_.busy_for(span); }
const std::vector<std::string>& Machine::team() const { return world_.team(); }
std::string Machine::log() const { return test::slurp(folder_ + "/log"); }

std::vector<std::string> Machine::boxes() const {
  std::vector<std::string> all{lead};
  all.insert(all.end(), workers_.begin(), workers_.end());
  return all;
}

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

bool Machine::has_member(const std::string& name) const {
  boost::system::error_code bad;
  const auto value = json::parse(disk_.read(roster()).value_or(""), bad);
  if (bad || !value.is_object()) return true;  // not known
  for (const auto& one : value.at("members").as_array())
    if (one.at("name").as_string() == name) return true;
  return false;
}

void Machine::set_member(const std::string& name, bool is_member) {
  boost::system::error_code bad;
  auto value = json::parse(disk_.read(roster()).value_or(""), bad);
  if (bad || !value.is_object()) return after(seconds(1), [this, name, is_member] { set_member(name, is_member); });
  auto& members = value.at("members").as_array();
  members.erase(std::remove_if(members.begin(), members.end(),
                               [&](const json::value& one) { return one.at("name").as_string() == name; }),
                members.end());
  if (is_member) members.push_back(member(name));
  disk_.replace(roster(), json::serialize(value));
}

void Machine::change_rules() {
  rules_.makes = !rules_.makes;
  rules_changed_ = true;
  for (auto& [id, request] : oracle().requests)
    if (request.rule == Request::Rule::none && request.kind == Request::Kind::permission) request.may_be_ruled = true;
  trace(rules_.makes ? "a rule allows make" : "no rule allows make");
  ask(connect(), {{"verb", "reload"}}, [](const json::object&) {});
}

void Machine::shows_process(const std::string& name, bool lives) { rules_.verifies = lives ? name + "@t" : ""; }

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
  const auto bytes = disk_.read(inbox(lead));
  if (!bytes || *bytes == seen_lead_box_) return;
  seen_lead_box_ = *bytes;
  boost::system::error_code bad;
  const auto entries = json::parse(*bytes, bad);
  if (bad || !entries.is_array()) return;
  for (const auto& one : entries.as_array()) {
    if (!one.is_object() || !one.as_object().contains("read") || !one.at("read").as_bool()) continue;
    const std::string text(one.at("text").as_string());
    if (!noted_.insert(text).second) continue;
    const auto payload = text.starts_with('{') ? json::parse(text, bad) : json::value();
    const auto* object = !bad && payload.is_object() ? &payload.as_object() : nullptr;
    const bool is_camel = object != nullptr && object->contains("requestId");
    oracle().marked(text, object == nullptr ? "" : text_of(*object, is_camel ? "requestId" : "request_id"));
  }
}

void Machine::read_box(std::set<std::string>& texts) const {
  boost::system::error_code bad;
  const auto entries = json::parse(disk_.read(inbox(lead)).value_or("[]"), bad);
  if (!bad && entries.is_array())
    for (const auto& one : entries.as_array()) texts.insert(text_of(one.as_object(), "text"));
}

void Machine::check_locks() {
  for (const auto& box : boxes())
    if (daemon_ && daemon_->made_lock(inbox(box) + ".lock") && profile().error_one_in == 0)
      oracle().violated("a lock is left at the box of " + box);
}

std::string Machine::unsettled() {
  if (life() == 0) return "the daemon is down";
  for (const auto& peer : peers_)
    if (const auto what = peer->unsettled(); !what.empty()) return what;
  for (const auto& box : boxes()) {
    if (!has_member(box)) return box + " has not come back";
    boost::system::error_code bad;
    const auto entries = json::parse(disk_.read(inbox(box)).value_or("[]"), bad);
    if (bad || !entries.is_array()) continue;
    for (const auto& one : entries.as_array())
      if (one.is_object() && !is_read(one.as_object()))
        return "unread in the box of " + box + ": " + json::serialize(one);
  }
  return {};
}

void Machine::repair_files() {
  const Inside inside(host_);
  boost::system::error_code broken;
  if (json::parse(disk_.read(roster()).value_or(""), broken); broken) {
    trace("a person restores the roster");
    disk_.write(roster(), roster_of(boxes()));
  }
  for (const auto& box : boxes()) {
    // After the clock was set back, no client takes the lock of a dead one for abandoned (W9).
    const auto left = disk_.find(inbox(box) + ".lock");
    if (left && left->mtime_ns > system_ns() && now() - left->made_at > settled_for) disk_.rmdir(inbox(box) + ".lock");
    boost::system::error_code bad;
    const auto bytes = disk_.read(inbox(box));
    if (!bytes || bytes->empty()) continue;
    if (const auto entries = json::parse(*bytes, bad); !bad && entries.is_array()) continue;
    if (const auto lock = disk_.find(inbox(box) + ".lock"); lock && now() - lock->made_at < settled_for) continue;
    trace("a person empties the torn box of " + box);
    oracle().destroyed();
    disk_.write(inbox(box), "[]");
  }
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
    daemon_ = std::make_unique<Daemon>(Home{disk_, ledger_disk_, dice(), folder_, rules_, world_.network()}, kill_in);
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
  disk_.lose_power(dice());
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
