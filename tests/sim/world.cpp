#include "tests/sim/world.hpp"

#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <utility>

#include "tests/sim/hook_lead.hpp"
#include "tests/sim/jsonl_peers.hpp"
#include "tests/sim/lead_peers.hpp"
#include "tests/sim/maildir_peers.hpp"
#include "tests/sim/peers.hpp"
#include "tests/sim/terminal_lead.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr Span episode = seconds(60);  // with faults
constexpr Span settling = minutes(4);  // after the last fault all is done within this time

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all = {
      {"calm", {}, 0, 0, 0, {}, 0, 0, milliseconds(2500)},
      {"hostile", seconds(5), 3, 1500, 0, seconds(10), 30, 300, milliseconds(2500)},
      {"loaded", seconds(30), 0, 0, 800, seconds(30), 200, 200, milliseconds(1200)},
      {"hosts", seconds(20), 4, 0, 3000, seconds(30), 100, 300, milliseconds(3500), seconds(12)},
  };
  return all;
}

}  // namespace

const Profile* profile_of(const std::string& name) {
  for (const auto& profile : profiles())
    if (profile.name == name) return &profile;
  return nullptr;
}

std::string profile_by(std::uint64_t seed) {
  constexpr const char* on_one_machine[] = {"calm", "hostile", "loaded"};
  return seed % 4 == 0 ? "hosts" : on_one_machine[seed % 3];
}

System system_by(std::uint64_t seed, const Profile& profile) {
  if (profile.network_every.count() > 0) return System::arrays;
  switch (Dice(seed * 2 + 3).below(4)) {
    case 0: return System::jsonl;
    case 1: return System::maildir;
    default: return System::arrays;
  }
}

const std::vector<std::string>& parts_of_a_world() {
  static const std::vector<std::string> all = {
      "kills",  "power",  "errors", "pauses", "full", "jumps",  "stops",     "still",     "deaths", "cuts",
      "engine", "losses", "slow",   "churn",  "ends", "reload", "leaseless", "watchless", "rival",  "forger",
      "h3",     "w4",     "w3",     "w2",     "w1",   "person", "lead",      "ways",      "panes",  "wishes"};
  return all;
}

World::World(std::uint64_t seed, const Setup& setup)
    : setup_((begin_world(seed), setup)),
      profile_(*setup.profile),
      seed_(seed),
      dice_(seed),
      oracle_([this](const std::string& line) { trace(line); }) {
  add_machines();
  oracle_.stands = [this](const std::string& worker, const std::string& id) {
    return std::ranges::any_of(machines_, [&](const auto& machine) {
      return machine->disk().read(machine->inbox(worker)).value_or("").find(id + "\\\"") != std::string::npos;
    });
  };
  oracle_.leads = [this](const std::string& name) { return leader() != nullptr && leader()->name() == name; };
  add_peers();
}

void World::add_machines() {
  if (profile_.network_every.count() == 0) {
    team_ = {"w1", "w2", "w3", "w4"};
    machines_.push_back(std::make_unique<Machine>(*this, "h1", scratch_.path().string(), team_, 0));
    return;
  }
  network_ = std::make_unique<Network>(dice_);
  oracle_.has_nodes = true;
  config::ClusterSettings nodes;
  nodes.redis_url = "redis+unix:///nowhere";
  nodes.id = "t";
  nodes.leads = {"h1", "h2"};
  nodes.members = {{"h1", {"w1", "w2"}}, {"h2", {"w3", "w4"}}};
  if (dice_.one_in(3) && has("h3")) nodes.members.emplace_back("h3", std::vector<std::string>{"w5"});
  int number = 0;
  for (const auto& [node, workers] : nodes.members) {
    team_.insert(team_.end(), workers.begin(), workers.end());
    auto& machine = *machines_.emplace_back(
        std::make_unique<Machine>(*this, node, scratch_.path(node).string(), workers, ++number));
    machine.rules().nodes = nodes;
    machine.rules().nodes.node = node;
    machine.rules().may_lead = node != "h3";
  }
}

std::vector<std::shared_ptr<Worker>> World::add_workers(Machine& machine, const std::string& verifier,
                                                        const std::shared_ptr<Dice>& wishes) {
  std::vector<std::shared_ptr<Worker>> workers;
  for (const auto& name : machine.workers()) {
    if (!has(name)) continue;
    const auto client = name == "w1" ? Client::v2_1_50 : Client::v2_1_331;
    workers.push_back(
        std::make_shared<Worker>(machine, name, client, name == verifier, name == verifier ? nullptr : wishes));
    machine.add(workers.back());
    workers.back()->begin_process();
    machine.set_member(name, true);
  }
  machine.disk().sync_all();
  return workers;
}

void World::add_line_peers(Machine& machine) {
  auto& files = dynamic_cast<JsonlFiles&>(machine.files());
  machine.disk().has_leases = !has("leaseless") || !dice_.one_in(4);
  machine.disk().has_watches = !has("watchless") || !dice_.one_in(6);
  oracle_.has_proofs = machine.disk().has_leases && machine.disk().has_watches;
  machine.add(std::make_shared<LineProgram>(machine, files));
  for (const auto& name : machine.workers())
    if (has(name)) machine.add(std::make_shared<LineWorker>(machine, name, files));
  if (has("forger")) machine.add(std::make_shared<LineForger>(machine));
}

void World::add_maildir_peers(Machine& machine) {
  auto& files = dynamic_cast<MaildirFiles&>(machine.files());
  oracle_.orders_by_clock = true;
  for (const auto& name : machine.workers()) {
    const auto manner = name == "w4" ? Actor::Manner::copies : name == "w3" ? Actor::Manner::deletes : Actor::Manner::takes;
    if (has(name)) machine.add(std::make_shared<Actor>(machine, name, files, manner));
  }
  if (dice_.one_in(4) && profile_.name != "calm" && has("rival"))
    machine.add(std::make_shared<LeadsTaker>(machine, files));
}

/// What a history has beside the usual peers is drawn first.
void World::add_peers() {
  const bool by_hand = dice_.one_in(3);
  const bool has_rival = dice_.one_in(8) && profile_.name != "calm" && is_alone();
  const bool churns = dice_.one_in(3), ends = dice_.one_in(3),
             reloads = dice_.one_in(3), verifies = dice_.one_in(3) && is_alone();
  Dice aside(seed_ * 2 + 1);  // so that the other dice stay what they were before a lead had several ways
  const auto way = by_hand ? Way::by_hand : std::array{Way::socket, Way::mcp, Way::stream}[aside.below(3)];
  Dice hooks(seed_ * 2 + 5);
  const auto other_way = has("ways") ? hooks.below(9) : 8;  // below 3: a client with hooks; 3: a file; 4: a pane
  const auto manner = std::array{HookLead::Manner::wakes, HookLead::Manner::wakes, HookLead::Manner::old,
                                 HookLead::Manner::headless}[hooks.below(setup_.system == System::arrays ? 4 : 3)];
  const bool in_pane = other_way == 4 && has("pane"), gets_payload = hooks.one_in(2);
  oracle_.is_calm = profile_.name == "calm" && !has_rival && !churns && !ends && !in_pane;
  const auto clears = has("clear") ? std::make_shared<Dice>(seed_ * 2 + 9) : nullptr;
  const auto wishes = ends && has("ends") && has("wishes") ? std::make_shared<Dice>(seed_ * 2 + 7) : nullptr;
  for (auto& machine : machines_) {
    const bool is_arrays = setup_.system == System::arrays;
    const auto workers =
        is_arrays ? add_workers(*machine, verifies ? "w4" : "", wishes) : std::vector<std::shared_ptr<Worker>>();
    if (setup_.system == System::jsonl) add_line_peers(*machine);
    if (setup_.system == System::maildir) add_maildir_peers(*machine);
    const bool leads = machine->rules().may_lead;
    if (has("lead") && leads && other_way < 3)
      machine->add(
          std::make_shared<HookLead>(*machine, manner, manner == HookLead::Manner::headless ? nullptr : clears));
    else if (has("lead") && leads && other_way == 3)
      machine->add(std::make_shared<FileLead>(*machine));
    else if (has("lead") && leads && in_pane)
      machine->add(std::make_shared<TerminalLead>(*machine, gets_payload));
    else if (has("lead") && leads)
      machine->add(std::make_shared<SocketLead>(*machine, way));
    if (has("person") && leads)
      machine->add(std::make_shared<Person>(*machine, ends && has("ends"), reloads && has("reload")));
    if (!is_arrays) continue;
    if (has("forger") && machine == machines_.back()) machine->add(std::make_shared<Forger>(*machine));
    if (has_rival && has("rival"))
      machine->add(std::make_shared<Rival>(*machine, by_hand ? Client::v2_1_50 : Client::v2_1_331));
    if ((churns || ends) && !workers.empty())
      machine->add(std::make_shared<Churn>(*machine, workers, churns && has("churn")));
  }
}

World::~World() {
  for (auto& machine : machines_) machine->stop();
  if (setup_.traces) std::printf("--- the log ---\n%s", log().c_str());
}

std::string World::log() const {
  std::string all;
  for (const auto& machine : machines_) {
    if (!is_alone()) all += "--- " + machine->name() + " ---\n";
    all += machine->log();
  }
  return all;
}

void World::trace(const std::string& line) {
  char moment[32];
  std::snprintf(moment, sizeof moment, "%11.6f ", static_cast<double>(now().count()) / 1e9);
  for (const char c : moment + line) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  if (setup_.traces) std::printf("%s%s\n", moment, line.c_str());
}

// --- time ---

void World::turn(Span end) {
  bool acted = false;
  while (!troubles_.empty() && troubles_.begin()->first <= now()) {
    const auto trouble = std::move(troubles_.begin()->second);
    troubles_.erase(troubles_.begin());
    trouble();
    acted = true;
  }
  for (auto& machine : machines_)
    if (machine->is_free()) acted = machine->act(end) || acted;
  if (acted) return;
  auto next = troubles_.empty() ? end : std::min(end, troubles_.begin()->first);
  for (const auto& machine : machines_)
    if (!machine->is_busy()) next = std::min(next, machine->wakes_at());
  set_now(std::max(next, now()));
}

void World::go_to(Span end) {
  while (now() < end && oracle_.violations().empty()) turn(end);
}

void World::let_others_go_on(Span span) {
  const auto end = now() + span;
  go_to(end);
  if (now() < end) set_now(end);
}

/// Causes one trouble of the network, and plans the next.
void World::upset_network() {
  if (!is_troubled()) return;
  const auto plan = [this](Span delay, std::function<void()> step) { troubles_.emplace(now() + delay, std::move(step)); };
  plan(dice_.between({}, profile_.network_every * 2), [this] { upset_network(); });
  const auto kind = dice_.below(7);
  constexpr const char* names[] = {"cuts", "cuts", "engine", "engine", "engine", "slow", "losses"};
  if (!has(names[kind])) return;
  auto& engine = network_->engine();
  oracle_.cause();
  switch (kind) {
    case 0:
    case 1: {
      const auto& node = machines_[dice_.below(machines_.size())]->name();
      trace("the network cuts off " + node);
      engine.cut_off.insert(node);
      return plan(dice_.between(seconds(1), seconds(40)), [this, node] {
        trace("the network reaches " + node);
        network_->engine().cut_off.erase(node);
        oracle_.cause();
      });
    }
    case 2:
      trace("the engine stops");
      engine.down = true;
      return plan(dice_.between(seconds(1), seconds(20)), [this] {
        trace("the engine starts");
        network_->engine().down = false;
        oracle_.cause();
      });
    case 3:
      trace("the engine loses all data");
      return engine.empty();
    case 4: {
      const auto most = 1 + dice_.below(20);
      trace("a replica follows the engine, without the last " + std::to_string(most) + " of each stream");
      return engine.lose_tail(most);
    }
    case 5:
      trace("the network is slow");
      network_->slowest = dice_.between(milliseconds(200), seconds(2));
      return plan(dice_.between(seconds(5), seconds(30)), [this] { network_->slowest = {}; });
    default:
      trace("the engine loses and repeats");
      engine.given_twice += static_cast<int>(dice_.below(4));
      engine.lost_puts += static_cast<int>(dice_.below(6));
      network_->loses_one_in = 10;
      return plan(dice_.between(seconds(5), seconds(30)), [this] { network_->loses_one_in = 0; });
  }
}

// --- an episode ---

Machine* World::leader() {
  if (is_alone()) return machines_.front().get();
  for (auto& machine : machines_)
    if (machine->name() == network_->leader()) return machine.get();
  return nullptr;
}

std::string World::unsettled() {
  for (auto& machine : machines_) machine->note_marks();
  if (const auto missing = oracle_.missing(); !missing.empty()) return missing.front();
  for (auto& machine : machines_)
    if (const auto what = machine->unsettled(); !what.empty()) return is_alone() ? what : machine->name() + " " + what;
  return {};
}

/// Compares the lead's boxes at a quiet moment with what the peers wrote.
void World::check_boxes() {
  std::set<std::string> texts;
  for (auto& machine : machines_) {
    machine->read_box(texts);
    machine->check_files();
  }
  oracle_.box_holds(texts);
}

void World::ask_now(Machine& machine, json::object request, const std::function<void(const json::object&)>& judge) {
  const std::string verb(request.at("verb").as_string());
  if (!oracle_.violations().empty()) return;
  bool answered = false;
  machine.ask(machine.connect(), std::move(request), [&](const json::object& answer) {
    answered = true;
    if (!answer.at("ok").as_bool()) return oracle_.violated(verb + ": " + json::serialize(answer));
    judge(answer);
  });
  for (int i = 0; i < 40 && !answered; ++i) go_to(now() + milliseconds(50));
  if (!answered) oracle_.violated(verb + " did not answer");
}

/// Compares what the daemons tell at a quiet moment with what the peers know.
void World::check_answers() {
  constexpr int all = 100'000;
  std::size_t open = 0;
  auto* leads = leader();
  if (leads == nullptr) return oracle_.violated("no machine leads");
  std::vector<Recorded> recorded;
  for (auto& machine : machines_) {
    const bool is_leader = machine.get() == leads;
    if (is_leader)
      ask_now(*machine, {{"verb", "pending"}, {"team", "t"}}, [&](const json::object& answer) {
        open = answer.at("requests").as_array().size();
        oracle_.judge_pending(answer.at("requests").as_array());
      });
    ask_now(*machine, {{"verb", "status"}}, [&](const json::object& answer) {
      const auto& teams = answer.at("teams").as_array();
      if (teams.empty()) return oracle_.violated("status: the team is not served");
      machine->trace("status: " + json::serialize(teams.at(0).at("chat")) + json::serialize(teams.at(0).at("requests")));
      const char* role = is_leader ? "leader" : machine->rules().may_lead ? "standby" : "follower";
      oracle_.judge_status(teams.at(0).as_object(), is_leader ? open : 0, role);
    });
    ask_now(*machine, {{"verb", "decisions"}, {"team", "t"}, {"limit", all}},
            [&](const json::object& answer) { oracle_.judge_decisions(answer.at("decisions").as_array()); });
    ask_now(*machine, {{"verb", "history"}, {"team", "t"}, {"limit", all}},
            [&](const json::object& answer) { oracle_.read_history(answer.at("messages").as_array(), recorded); });
    ask_now(*machine, {{"verb", "quarantine"}, {"team", "t"}, {"limit", all}},
            [&](const json::object& answer) { oracle_.judge_quarantine(answer.at("entries").as_array()); });
    ask_now(*machine, {{"verb", "shutdowns"}, {"team", "t"}, {"limit", all}},
            [&](const json::object& answer) { oracle_.judge_shutdowns(answer.at("shutdowns").as_array()); });
  }
  if (oracle_.violations().empty()) oracle_.judge_history(recorded);
}

void World::end_of_trouble() {
  trace("the faults stop");
  oracle_.is_upset = false;
  if (network_) network_->heal();
  for (auto& machine : machines_) machine->end_trouble();
}

/// A time with faults, then one without until nothing is missing, then the judgment.
void World::play_episode() {
  trouble_until_ = now() + episode;
  for (auto& machine : machines_) machine->begin_trouble();
  if (network_) troubles_.emplace(now() + profile_.network_every, [this] { upset_network(); });
  go_to(trouble_until_);
  end_of_trouble();
  // Once more than the slowest of the daemon's retries, then until nothing is missing.
  go_to(now() + settled_for);
  const auto is_to_wait = [this] {
    return oracle_.violations().empty() && now() < trouble_until_ + settling && !unsettled().empty();
  };
  do {
    while (is_to_wait()) {
      for (auto& machine : machines_) machine->repair_files();
      go_to(now() + settled_for);
    }
    for (auto& machine : machines_) machine->repair_files();
    go_to(now() + seconds(20));  // the lead acknowledges what it saw last, and a lock of the dead is given up
  } while (is_to_wait());        // mail that the engine lost is put again, and answered, at longer and longer intervals
  if (setup_.traces && !unsettled().empty())
    for (auto& machine : machines_)
      ask_now(*machine, {{"verb", "status"}},
              [&](const json::object& answer) { machine->trace("not settled: " + json::serialize(answer)); });
  if (oracle_.violations().empty())
    for (const auto& what : oracle_.missing()) oracle_.violated(what);
  for (auto& machine : machines_) machine->note_marks();
  if (const auto what = unsettled(); oracle_.violations().empty() && !what.empty())
    oracle_.violated("not settled: " + what);
  if (oracle_.violations().empty()) check_boxes();
  if (oracle_.violations().empty()) check_answers();
}

std::vector<std::string> World::play() {
  for (auto& machine : machines_) machine->start();
  for (int i = 0; i < setup_.episodes && oracle_.violations().empty(); ++i) play_episode();
  trace("the end");
  return oracle_.violations();
}

}  // namespace inbox_poller::sim
