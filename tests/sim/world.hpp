// One history: a daemon of real code on simulated time, files and a simulated disk below its ledger, peers as models,
// and chance. Everything runs on one thread, in an order that only the seed decides.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/disk.hpp"
#include "tests/sim/ledger_disk.hpp"
#include "tests/sim/oracle.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::sim {

/// Weights of the dice.
struct Profile {
  std::string name;
  Span crash_every{};                  // mean; zero: never
  std::uint64_t power_one_in = 0;      // of the crashes: the machine loses its power
  std::uint64_t error_one_in = 0;      // calls
  std::uint64_t pause_one_in = 0;      // calls
  Span trouble_every{};                // mean; full disk, jumps of the clock, graceful restarts
  std::uint64_t peer_dies_one_in = 0;  // steps of a peer
  std::uint64_t peer_is_slow_one_in = 0;  // locks
  Span chat_every = std::chrono::seconds(3);
};
const Profile* profile_of(const std::string& name);
std::vector<std::string> profile_names();

/// What decides a history beside its seed.
struct Setup {
  const Profile* profile = nullptr;
  std::set<std::string> without;  // peers and faults that are left out; see parts_of_a_world()
  int episodes = 6;               // each has a time with faults, and then one until all has settled
  bool traces = false;
};
/// The names that Setup::without takes.
const std::vector<std::string>& parts_of_a_world();

class Daemon;
class Peer;
struct Rules;

class World {
 public:
  World(std::uint64_t seed, const Setup& setup);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Plays the history and returns its violations.
  std::vector<std::string> play();
  /// The daemon's log so far.
  [[nodiscard]] std::string log() const;
  /// A hash of everything that was traced.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

  // --- for the peers ---
  Dice& dice() { return dice_; }
  Disk& disk() { return disk_; }
  Oracle& oracle() { return oracle_; }
  const Profile& profile() const { return profile_; }
  /// True unless the part is left out.
  [[nodiscard]] bool has(const std::string& part) const { return !setup_.without.contains(part); }
  [[nodiscard]] std::uint64_t peer_dies_one_in() const { return has("deaths") ? profile_.peer_dies_one_in : 0; }
  /// True until the faults of the episode stop.
  [[nodiscard]] bool is_troubled() const { return now() < trouble_until_; }
  /// What was begun may last so long: nothing is judged before.
  void busy_for(Span span) { busy_until_ = std::max(busy_until_, now() + span); }
  void trace(const std::string& line);
  [[nodiscard]] std::string inbox(const std::string& name) const { return root() + "/t/inboxes/" + name + ".json"; }
  [[nodiscard]] std::string roster() const { return root() + "/t/config.json"; }
  [[nodiscard]] bool has_member(const std::string& name) const;
  /// Puts a member into the roster, or takes it out.
  void set_member(const std::string& name, bool is_member);
  /// Changes the configuration, and asks the daemon to read it again.
  void change_rules();
  /// True once a rule may have allowed `make`.
  [[nodiscard]] bool makes_may_be_ruled() const { return rules_changed_; }
  /// The process of a worker that verifies its lead begins or ends.
  void shows_process(const std::string& name, bool lives);
  /// Another consumer has marked an entry of the lead's box.
  void rival_took(const std::string& text);
  /// The folder of all teams. An empty real folder has the same path, because the product checks its real parents.
  [[nodiscard]] std::string root() const { return scratch_.path("teams").string(); }

  /// Does a step of a peer that touches only files. It may come between two calls of the daemon.
  void after(Span delay, std::function<void()> step) { files_.emplace(now() + delay, std::move(step)); }
  /// Does a step that talks to the daemon. It comes between two turns of the daemon.
  void talk_after(Span delay, std::function<void()> step) { talks_.emplace(now() + delay, std::move(step)); }
  /// Number of the daemon's life; 0: none is running.
  [[nodiscard]] int life() const;

  /// A connection to the daemon, closed by its death.
  class Line;
  std::shared_ptr<Line> connect();
  using Answer = std::function<void(const boost::json::object&)>;
  /// Sends a request. There is no answer if the daemon or the line dies.
  void ask(const std::shared_ptr<Line>& line, boost::json::object request, Answer answer);
  void hang_up(const std::shared_ptr<Line>& line);

 private:
  using Steps = std::multimap<Span, std::function<void()>>;
  static void take_due(Steps& steps);
  void add_peers();
  void start_daemon();
  void upset_daemon();
  void end_daemon();
  void crash(bool power);
  void note_marks();
  void cause_trouble();
  void go_to(Span end);
  std::string unsettled();
  void play_episode();
  void end_of_trouble();
  void repair_files();
  void check_box();
  void check_answers();
  void ask_now(boost::json::object request, const std::function<void(const boost::json::object&)>& judge);

  const Setup setup_;
  const Profile& profile_;
  Span trouble_until_{}, busy_until_{};
  bool rules_changed_ = false;
  std::uint64_t digest_ = 14695981039346656037ULL;
  Dice dice_;
  Disk disk_;
  LedgerDisk ledger_disk_;
  test::ScratchDir scratch_;
  Oracle oracle_;
  Steps files_, talks_;
  bool in_peers_ = false;
  std::string seen_lead_box_;
  Span noted_at_{};
  std::set<std::string> noted_;  // texts that were marked as read
  int lives_ = 0;
  std::unique_ptr<Rules> rules_;
  std::unique_ptr<Daemon> daemon_;
  std::vector<std::shared_ptr<Peer>> peers_;
};

}  // namespace inbox_poller::sim
