#include "tests/sim/world.hpp"

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "tests/sim/daemon.hpp"
#include "tests/sim/lead_peers.hpp"
#include "tests/sim/peers.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr const char* first_members[] = {"team-lead", "w1", "w2", "w3", "w4"};
constexpr Span episode = seconds(60);      // with faults
constexpr Span settling = minutes(4);      // after the last fault all is done within this time
constexpr Span settled_for = seconds(12);  // longer than a lock is watched before it counts as abandoned
constexpr Span restart_after = seconds(1);

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all = {
      {"calm", {}, 0, 0, 0, {}, 0, 0, milliseconds(2500)},
      {"hostile", seconds(5), 3, 1500, 0, seconds(10), 30, 300, milliseconds(2500)},
      {"loaded", seconds(30), 0, 0, 800, seconds(30), 200, 200, milliseconds(1200)},
  };
  return all;
}

json::object member(const std::string& name) {
  return {{"agentId", name + "@t"}, {"name", name}, {"joinedAt", system_ms()}};
}

std::string roster_of(const json::array& members) {
  return json::serialize(
      json::object{{"name", "t"}, {"leadAgentId", "team-lead@t"}, {"leadSessionId", "s"}, {"members", members}});
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

const std::vector<std::string>& parts_of_a_world() {
  static const std::vector<std::string> all = {"kills", "power",  "errors", "pauses", "full",   "jumps", "stops",
                                               "still", "deaths", "churn",  "ends",   "reload", "rival", "forger",
                                               "w4",    "w3",     "w2",     "w1",     "person", "lead"};
  return all;
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

World::World(std::uint64_t seed, const Setup& setup)
    : setup_((begin_world(seed), setup)),
      profile_(*setup.profile),
      dice_(seed),
      oracle_([this](const std::string& line) { trace(line); }),
      rules_(std::make_unique<Rules>()) {
  std::filesystem::create_directories(root());
  disk_.make_folders(root() + "/t/inboxes");
  disk_.make_folders(scratch_.path("quarantine").string());
  json::array members;
  for (const char* name : first_members) members.push_back(member(name));
  disk_.write(roster(), roster_of(members));
  disk_.sync_all();
  oracle_.stands = [this](const std::string& worker, const std::string& id) {
    return disk_.read(inbox(worker)).value_or("").find(id + "\\\"") != std::string::npos;
  };
  disk_.on_stolen_lock = [this](const std::string& name, Span age) {
    oracle_.violated("the daemon removed a lock of a peer that was " + std::to_string(age / milliseconds(1)) + " ms old: " + name);
  };
  add_peers();
}

/// What a history has beside the usual peers is drawn first.
void World::add_peers() {
  const bool by_hand = dice_.one_in(3);
  const bool has_rival = dice_.one_in(8) && profile_.name != "calm";
  const bool churns = dice_.one_in(3), ends = dice_.one_in(3), reloads = dice_.one_in(3), verifies = dice_.one_in(3);
  rules_->verifies = verifies ? "w4@t" : "";
  oracle_.is_calm = profile_.name == "calm" && !has_rival && !churns && !ends;
  std::vector<std::shared_ptr<Worker>> workers;
  for (int i = 1; i <= 4; ++i) {
    const auto name = "w" + std::to_string(i);
    if (!has(name)) continue;
    const auto client = i == 1 ? Client::v2_1_50 : Client::v2_1_331;
    workers.push_back(std::make_shared<Worker>(*this, name, client, i == 4 && verifies));
    peers_.push_back(workers.back());
  }
  if (has("lead")) peers_.push_back(std::make_shared<SocketLead>(*this, by_hand));
  if (has("person")) peers_.push_back(std::make_shared<Person>(*this, ends && has("ends"), reloads && has("reload")));
  if (has("forger")) peers_.push_back(std::make_shared<Forger>(*this));
  if (has_rival && has("rival")) peers_.push_back(std::make_shared<Rival>(*this, by_hand ? Client::v2_1_50 : Client::v2_1_331));
  if ((churns || ends) && !workers.empty()) peers_.push_back(std::make_shared<Churn>(*this, workers, churns && has("churn")));
}

World::~World() {
  daemon_.reset();
  if (setup_.traces) std::printf("--- the log ---\n%s", log().c_str());
}

std::string World::log() const { return test::slurp(scratch_.path("log")); }

void World::trace(const std::string& line) {
  char moment[32];
  std::snprintf(moment, sizeof moment, "%11.6f ", static_cast<double>(now().count()) / 1e9);
  for (const char c : moment + line) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  if (setup_.traces) std::printf("%s%s\n", moment, line.c_str());
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

// --- the team's files ---

bool World::has_member(const std::string& name) const {
  boost::system::error_code bad;
  const auto value = json::parse(disk_.read(roster()).value_or(""), bad);
  if (bad || !value.is_object()) return true;  // not known
  for (const auto& one : value.at("members").as_array())
    if (one.at("name").as_string() == name) return true;
  return false;
}

void World::set_member(const std::string& name, bool is_member) {
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

void World::change_rules() {
  rules_->makes = !rules_->makes;
  rules_changed_ = true;
  for (auto& [id, request] : oracle_.requests)
    if (request.rule == Request::Rule::none && request.kind == Request::Kind::permission) request.may_be_ruled = true;
  trace(rules_->makes ? "a rule allows make" : "no rule allows make");
  ask(connect(), {{"verb", "reload"}}, [](const json::object&) {});
}

void World::shows_process(const std::string& name, bool lives) { rules_->verifies = lives ? name + "@t" : ""; }

void World::rival_took(const std::string& text) {
  trace("another consumer takes " + text.substr(0, 60));
  if (const auto found = oracle_.chat.find(text); found != oracle_.chat.end() && !found->second.owed)
    found->second.by_rival = true;
  boost::system::error_code bad;
  const auto payload = json::parse(text, bad);
  if (bad || !payload.is_object()) return;
  for (const char* name : {"request_id", "requestId"})
    if (const auto* id = payload.as_object().if_contains(name))
      if (const auto found = oracle_.requests.find(std::string(id->as_string())); found != oracle_.requests.end())
        found->second.left = true;
}

// --- the daemon's lives ---

void World::start_daemon() {
  ++lives_;
  set_process(lives_);
  const bool may_die = is_troubled() && profile_.crash_every.count() > 0 && has("kills");
  const auto kill_in = may_die && dice_.one_in(6) ? 1 + dice_.below(400) : 0;
  try {
    daemon_ = std::make_unique<Daemon>(disk_, ledger_disk_, dice_, scratch_.path().string(), kill_in, *rules_);
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
  if (is_troubled()) upset_daemon();
}

/// Lets the dice decide over the daemon until the episode's faults stop.
void World::upset_daemon() {
  auto& fate = daemon_->fate();
  if (has("errors")) fate.error_one_in = profile_.error_one_in;
  if (has("pauses")) fate.pause_one_in = profile_.pause_one_in;
  if (profile_.crash_every.count() == 0 || !has("kills")) return;
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
  oracle_.lost_power();
  disk_.lose_power(dice_);
  ledger_disk_.lose_power(dice_);
  for (const auto& peer : peers_) peer->lose_power();
}

/// Notes what is marked as read in the lead's box: from then on it is the daemon's.
void World::note_marks() {
  noted_at_ = now();
  const auto bytes = disk_.read(inbox("team-lead"));
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
    oracle_.marked(text, object == nullptr ? "" : text_of(*object, is_camel ? "requestId" : "request_id"));
  }
}

void World::cause_trouble() {
  if (!is_troubled()) return;
  talk_after(dice_.between({}, profile_.trouble_every * 2), [this] { cause_trouble(); });
  const auto kind = dice_.below(4);
  constexpr const char* names[] = {"full", "jumps", "stops", "still"};
  if (life() == 0 || !has(names[kind])) return;
  auto& fate = daemon_->fate();
  switch (kind) {
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
      oracle_.clock_jumped = true;  // deadlines go over a restart by this clock
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
    if (now() - noted_at_ > seconds(3)) note_marks();
    if (std::exchange(daemon_->fate().errors, 0) > 0) oracle_.cause();
    if (daemon_->fate().is_dead) {
      crash(is_troubled() && has("power") && dice_.one_in(profile_.power_one_in));
    } else if (daemon_->has_failed()) {
      if (profile_.error_one_in == 0) oracle_.violated("the daemon ended by itself: " + daemon_->failure());
      crash(false);
    }
  }
}

/// What is still under way; empty if no unread entry is left and nothing is missing.
std::string World::unsettled() {
  note_marks();
  if (now() < busy_until_) return "a shutdown may last longer";
  if (const auto missing = oracle_.missing(); !missing.empty()) return missing.front();
  for (const char* name : first_members) {
    if (!has_member(name)) return std::string(name) + " has not come back";
    boost::system::error_code bad;
    const auto entries = json::parse(disk_.read(inbox(name)).value_or("[]"), bad);
    if (bad || !entries.is_array()) continue;
    for (const auto& one : entries.as_array())
      if (one.is_object() && !is_read(one.as_object()))
        return std::string("unread in the box of ") + name + ": " + json::serialize(one);
  }
  return {};
}

/// Compares the lead's box at a quiet moment with what the peers wrote.
void World::check_box() {
  std::set<std::string> texts;
  boost::system::error_code bad;
  const auto entries = json::parse(disk_.read(inbox("team-lead")).value_or("[]"), bad);
  if (!bad && entries.is_array())
    for (const auto& one : entries.as_array()) texts.insert(text_of(one.as_object(), "text"));
  oracle_.box_holds(texts);
  for (const char* name : first_members)
    if (daemon_ && daemon_->made_lock(inbox(name) + ".lock") && profile_.error_one_in == 0) oracle_.violated(std::string("a lock is left at the box of ") + name);
}

void World::ask_now(json::object request, const std::function<void(const json::object&)>& judge) {
  const std::string verb(request.at("verb").as_string());
  if (!oracle_.violations().empty()) return;
  bool answered = false;
  ask(connect(), std::move(request), [&](const json::object& answer) {
    answered = true;
    if (!answer.at("ok").as_bool()) return oracle_.violated(verb + ": " + json::serialize(answer));
    judge(answer);
  });
  for (int i = 0; i < 40 && !answered; ++i) go_to(now() + milliseconds(50));
  if (!answered) oracle_.violated(verb + " did not answer");
}

/// Compares what the daemon tells at a quiet moment with what the peers know.
void World::check_answers() {
  constexpr int all = 100'000;
  std::size_t open = 0;
  ask_now({{"verb", "pending"}, {"team", "t"}}, [&](const json::object& answer) {
    open = answer.at("requests").as_array().size();
    oracle_.judge_pending(answer.at("requests").as_array());
  });
  ask_now({{"verb", "status"}}, [&](const json::object& answer) {
    const auto& teams = answer.at("teams").as_array();
    if (teams.empty()) return oracle_.violated("status: the team is not served");
    trace("status: " + json::serialize(teams.at(0).at("chat")) + json::serialize(teams.at(0).at("requests")));
    oracle_.judge_status(teams.at(0).as_object(), open);
  });
  ask_now({{"verb", "decisions"}, {"team", "t"}, {"limit", all}},
          [&](const json::object& answer) { oracle_.judge_decisions(answer.at("decisions").as_array()); });
  ask_now({{"verb", "history"}, {"team", "t"}, {"limit", all}},
          [&](const json::object& answer) { oracle_.judge_history(answer.at("messages").as_array()); });
  ask_now({{"verb", "shutdowns"}, {"team", "t"}, {"limit", all}},
          [&](const json::object& answer) { oracle_.judge_shutdowns(answer.at("shutdowns").as_array()); });
}

/// What a client tore as it died is left to a person by all but client 2.1.50.
void World::repair_files() {
  boost::system::error_code broken;
  if (json::parse(disk_.read(roster()).value_or(""), broken); broken) {
    trace("a person restores the roster");
    json::array members;
    for (const char* name : first_members) members.push_back(member(name));
    disk_.write(roster(), roster_of(members));
  }
  for (const char* name : first_members) {
    // After the clock was set back, no client takes the lock of a dead one for abandoned (W9).
    const auto left = disk_.find(inbox(name) + ".lock");
    if (left && left->mtime_ns > system_ns() && now() - left->made_at > settled_for) disk_.rmdir(inbox(name) + ".lock");
    boost::system::error_code bad;
    const auto bytes = disk_.read(inbox(name));
    if (!bytes || bytes->empty()) continue;
    if (const auto entries = json::parse(*bytes, bad); !bad && entries.is_array()) continue;
    if (const auto lock = disk_.find(inbox(name) + ".lock"); lock && now() - lock->made_at < settled_for) continue;
    trace(std::string("a person empties the torn box of ") + name);
    oracle_.destroyed();
    disk_.write(inbox(name), "[]");
  }
}

void World::end_of_trouble() {
  trace("the faults stop");
  oracle_.is_upset = false;
  if (daemon_) {
    auto& fate = daemon_->fate();
    fate.kill_in = fate.error_one_in = fate.pause_one_in = 0;
    fate.disk_is_full = false;
  }
  repair_files();
  if (oracle_.has_rival) ask(connect(), {{"verb", "resume"}, {"team", "t"}}, [](const json::object&) {});
}

/// A time with faults, then one without until nothing is missing, then the judgment.
void World::play_episode() {
  trouble_until_ = now() + episode;
  if (daemon_) upset_daemon();
  if (profile_.trouble_every.count() > 0) talk_after(profile_.trouble_every, [this] { cause_trouble(); });
  go_to(trouble_until_);
  end_of_trouble();
  // Once more than the slowest of the daemon's retries, then until nothing is missing.
  go_to(now() + settled_for);
  while (oracle_.violations().empty() && now() < trouble_until_ + settling && !unsettled().empty()) {
    repair_files();
    go_to(now() + settled_for);
  }
  if (setup_.traces && !unsettled().empty())
    ask_now({{"verb", "status"}}, [this](const json::object& answer) { trace("not settled: " + json::serialize(answer)); });
  if (oracle_.violations().empty())
    for (const auto& what : oracle_.missing()) oracle_.violated(what);
  go_to(now() + seconds(20));  // the lead acknowledges what it saw last, and a lock of the dead is given up
  note_marks();
  if (const auto what = unsettled(); oracle_.violations().empty() && !what.empty())
    oracle_.violated("not settled: " + what);
  if (oracle_.violations().empty()) check_box();
  if (oracle_.violations().empty()) check_answers();
}

std::vector<std::string> World::play() {
  start_daemon();
  for (const auto& peer : peers_) peer->start();
  for (int i = 0; i < setup_.episodes && oracle_.violations().empty(); ++i) play_episode();
  trace("the end");
  return oracle_.violations();
}

}  // namespace inbox_poller::sim
