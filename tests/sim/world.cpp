#include "tests/sim/world.hpp"

#include <boost/json.hpp>
#include <cstdio>
#include <utility>

#include "tests/sim/daemon.hpp"
#include "tests/sim/peers.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr const char* roster = R"({
  "name": "t", "leadAgentId": "team-lead@t", "leadSessionId": "s", "members": [
    {"agentId": "team-lead@t", "name": "team-lead"},
    {"agentId": "w1@t", "name": "w1"},
    {"agentId": "w2@t", "name": "w2"},
    {"agentId": "w3@t", "name": "w3"}]})";

constexpr Span settling = minutes(4);      // after the last fault all is done within this time
constexpr Span settled_for = seconds(12);  // longer than a lock is watched before it counts as abandoned
constexpr Span restart_after = seconds(1);

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all = {
      {"calm", seconds(40), {}, 0, 0, 0, {}, 0, seconds(1)},
      {"hostile", seconds(40), seconds(5), 3, 1500, 0, seconds(10), 30, seconds(1)},
      {"loaded", seconds(40), seconds(30), 0, 0, 800, seconds(30), 200, milliseconds(400)},
  };
  return all;
}

}  // namespace

const Profile* profile_of(const std::string& name) {
  for (const auto& profile : profiles())
    if (profile.name == name) return &profile;
  return nullptr;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const auto& profile : profiles()) names.push_back(profile.name);
  return names;
}

/// A connection, valid in one life of the daemon.
class World::Line {
 public:
  Line(int life, Daemon::Session session) : life_(life), session_(std::move(session)) {}
  [[nodiscard]] int life() const { return life_; }
  [[nodiscard]] const Daemon::Session& session() const { return session_; }

 private:
  int life_;
  Daemon::Session session_;
};

World::World(std::uint64_t seed, const Profile& profile, bool traces)
    : profile_((begin_world(seed), profile)),
      traces_(traces),
      dice_(seed),
      oracle_([this](const std::string& line) { trace(line); }) {
  std::filesystem::create_directories(root());
  disk_.make_folders(root() + "/t/inboxes");
  disk_.make_folders(scratch_.path("quarantine").string());
  disk_.write(root() + "/t/config.json", roster);
  disk_.sync_all();
  peers_.push_back(std::make_shared<Worker>(*this, "w1", Client::v2_1_50));
  peers_.push_back(std::make_shared<Worker>(*this, "w2", Client::v2_1_331));
  peers_.push_back(std::make_shared<Worker>(*this, "w3", Client::v2_1_331));
  peers_.push_back(std::make_shared<SocketLead>(*this));
  peers_.push_back(std::make_shared<Person>(*this));
  peers_.push_back(std::make_shared<Forger>(*this));
}

World::~World() {
  daemon_.reset();
  if (traces_) std::printf("--- the log ---\n%s", test::slurp(scratch_.path("log")).c_str());
}

void World::trace(const std::string& line) {
  char moment[32];
  std::snprintf(moment, sizeof moment, "%11.6f ", static_cast<double>(now().count()) / 1e9);
  for (const char c : moment + line) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  if (traces_) std::printf("%s%s\n", moment, line.c_str());
}

int World::life() const { return daemon_ && !daemon_->fate().is_dead ? lives_ : 0; }

void World::take_due(Steps& steps) {
  while (!steps.empty() && steps.begin()->first <= now()) {
    const auto step = std::move(steps.begin()->second);
    steps.erase(steps.begin());
    step();
  }
}

// --- connections ---

std::shared_ptr<World::Line> World::connect() {
  return std::make_shared<Line>(life(), life() == 0 ? nullptr : daemon_->connect());
}

void World::ask(const std::shared_ptr<Line>& line, json::object request, Answer answer) {
  if (line->life() == 0 || line->life() != life()) return;
  daemon_->ask(std::move(request), line->session(), std::move(answer));
}

void World::hang_up(const std::shared_ptr<Line>& line) {
  if (line && line->life() != 0 && line->life() == life()) daemon_->hang_up(line->session());
}

// --- the daemon's lives ---

void World::start_daemon() {
  ++lives_;
  set_process(lives_);
  const auto kill_in = is_troubled() && profile_.crash_every.count() > 0 && dice_.one_in(6) ? 1 + dice_.below(400) : 0;
  try {
    daemon_ = std::make_unique<Daemon>(disk_, ledger_disk_, dice_, scratch_.path().string(), kill_in);
  } catch (const std::exception& error) {
    ledger_disk_.serve(nullptr);
    std::string why = error.what();
    const auto folder = scratch_.path().string();  // another one in each run
    if (const auto at = why.find(folder); at != std::string::npos) why.replace(at, folder.size(), "FOLDER");
    trace("the daemon did not start: " + why);
    if (kill_in == 0) oracle_.violated("no start: " + why);
    oracle_.cause();
    return talk_after(restart_after, [this] { start_daemon(); });
  }
  trace("the daemon starts");
  auto& fate = daemon_->fate();
  fate.meanwhile = [this] {
    if (std::exchange(in_peers_, true)) return;
    take_due(files_);
    in_peers_ = false;
  };
  if (!is_troubled()) return;
  fate.error_one_in = profile_.error_one_in;
  fate.pause_one_in = profile_.pause_one_in;
  if (profile_.crash_every.count() == 0) return;
  talk_after(dice_.between({}, profile_.crash_every * 2), [this, life = lives_] {
    if (life == this->life() && is_troubled()) daemon_->fate().kill_in = 1 + dice_.below(60);
  });
}

void World::end_daemon() {
  daemon_->fate().meanwhile = {};
  daemon_.reset();
  ledger_disk_.serve(nullptr);
  talk_after(restart_after, [this] { start_daemon(); });
}

void World::crash(bool power) {
  trace(power ? "the power fails" : "the daemon is killed");
  oracle_.cause();
  note_marks();
  end_daemon();
  if (!power) return;
  disk_.lose_power(dice_);
  ledger_disk_.lose_power(dice_);
  for (const auto& peer : peers_) peer->lose_power();
}

/// Notes what is marked as read in the lead's box: from then on it is the daemon's.
void World::note_marks() {
  const auto bytes = disk_.read(inbox("team-lead"));
  if (!bytes || *bytes == seen_lead_box_) return;
  seen_lead_box_ = *bytes;
  boost::system::error_code bad;
  const auto entries = json::parse(*bytes, bad);
  if (bad || !entries.is_array()) return;
  for (const auto& one : entries.as_array()) {
    if (!one.is_object() || !one.as_object().contains("read") || !one.at("read").as_bool()) continue;
    const std::string text(one.at("text").as_string());
    const auto payload = json::parse(text, bad);
    const bool is_request = !bad && payload.is_object() && payload.as_object().contains("request_id");
    oracle_.marked(text, is_request ? std::string(payload.at("request_id").as_string()) : std::string());
  }
}

void World::cause_trouble() {
  if (!is_troubled()) return;
  talk_after(dice_.between({}, profile_.trouble_every * 2), [this] { cause_trouble(); });
  if (life() == 0) return;
  auto& fate = daemon_->fate();
  switch (dice_.below(4)) {
    case 0:
      trace("the disk is full");
      oracle_.is_upset = true;
      fate.disk_is_full = true;
      return talk_after(dice_.between(seconds(1), seconds(8)), [this] {
        if (daemon_) daemon_->fate().disk_is_full = false;
        oracle_.is_upset = false;
        oracle_.cause();
      });
    case 1:
      set_clock_error(dice_.between(-seconds(4000), seconds(4000)));
      oracle_.cause();  // peers judge locks by this clock
      return trace("the system clock jumps");
    case 2:
      trace("the daemon ends in order");
      oracle_.cause();
      daemon_->stop();
      note_marks();
      return end_daemon();
    default: {
      const auto pause = dice_.between(seconds(1), seconds(30));
      pass(pause);
      return trace("the machine stands still");
    }
  }
}

void World::go_to(Span end) {
  while (now() < end && oracle_.violations().empty()) {
    take_due(files_);
    take_due(talks_);
    auto next = end;
    if (!files_.empty()) next = std::min(next, files_.begin()->first);
    if (!talks_.empty()) next = std::min(next, talks_.begin()->first);
    if (!daemon_) {
      set_now(std::max(next, now()));
      continue;
    }
    daemon_->go_to(next);
    note_marks();
    if (std::exchange(daemon_->fate().errors, 0) > 0) oracle_.cause();
    if (daemon_->fate().is_dead) {
      crash(is_troubled() && dice_.one_in(profile_.power_one_in));
    } else if (daemon_->has_failed()) {
      if (profile_.error_one_in == 0) oracle_.violated("the daemon ended by itself: " + daemon_->failure());
      crash(false);
    }
  }
}

/// True if no unread entry is left and nothing is missing.
bool World::is_settled() {
  if (!oracle_.missing().empty()) return false;
  for (const char* name : {"team-lead", "w1", "w2", "w3"}) {
    boost::system::error_code bad;
    const auto entries = json::parse(disk_.read(inbox(name)).value_or("[]"), bad);
    if (bad || !entries.is_array()) continue;
    for (const auto& one : entries.as_array())
      if (one.is_object() && one.as_object().contains("read") && !one.at("read").as_bool()) return false;
  }
  return true;
}

/// Compares what `status` says at the quiet end with what the peers know.
void World::check_status() {
  bool answered = false;
  ask(connect(), {{"verb", "status"}}, [&](const json::object& answer) {
    answered = true;
    const auto& teams = answer.at("teams").as_array();
    if (teams.empty()) return oracle_.violated("status: the team is not served at the end");
    const auto& team = teams.at(0).as_object();
    trace("status: " + json::serialize(team.at("chat")) + json::serialize(team.at("requests")));
    if (team.at("replies_owed").as_int64() != 0) oracle_.violated("status: replies are owed at the end");
  });
  go_to(now() + seconds(2));
  if (!answered) oracle_.violated("status did not answer");
}

std::vector<std::string> World::play() {
  start_daemon();
  for (const auto& peer : peers_) peer->start();
  if (profile_.trouble_every.count() > 0) talk_after(profile_.trouble_every, [this] { cause_trouble(); });
  go_to(profile_.length);
  trace("the faults stop");
  if (daemon_) {
    auto& fate = daemon_->fate();
    fate.kill_in = fate.error_one_in = fate.pause_one_in = 0;
    fate.disk_is_full = false;
  }
  // Once more than the slowest of the daemon's retries, then until nothing is missing.
  go_to(now() + settled_for);
  while (oracle_.violations().empty() && now() < profile_.length + settling && !is_settled())
    go_to(now() + settled_for);
  if (oracle_.violations().empty())
    for (const auto& what : oracle_.missing()) oracle_.violated(what);
  if (oracle_.violations().empty()) check_status();
  for (const char* name : {"team-lead", "w1", "w2", "w3"})
    if (const auto bytes = disk_.read(inbox(name)); !bytes || bytes->empty())
      trace(std::string("the box of ") + name + (bytes ? " is empty" : " is missing"));
  trace("the end");
  return oracle_.violations();
}

}  // namespace inbox_poller::sim
