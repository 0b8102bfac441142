// One history: machines with a daemon of real code each, on simulated time, files and disks, peers as models, a network
// between the machines, and chance. Everything runs on one thread, in an order that only the seed decides.
#pragma once

#include <boost/json/object.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/machine.hpp"
#include "tests/sim/network.hpp"
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
  Span network_every{};  // mean; troubles of the network between machines; zero: the team is on one machine
};
const Profile* profile_of(const std::string& name);
/// The profile of a seed that comes without one.
std::string profile_by(std::uint64_t seed);

/// The mailbox system of a seed that comes without one.
System system_by(std::uint64_t seed, const Profile& profile);

/// What decides a history beside its seed.
struct Setup {
  const Profile* profile = nullptr;
  System system = System::arrays;
  std::set<std::string> without;  // peers and faults that are left out; see parts_of_a_world()
  int episodes = 6;               // each has a time with faults, and then one until all has settled
  bool traces = false;
};
/// The names that Setup::without takes.
const std::vector<std::string>& parts_of_a_world();

class Worker;

/// Longer than a lock is watched before it counts as abandoned.
inline constexpr Span settled_for = std::chrono::seconds(12);

class World {
 public:
  World(std::uint64_t seed, const Setup& setup);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Plays the history and returns its violations.
  std::vector<std::string> play();
  /// The first machine, for a comparison of its peers with real clients.
  Machine& machine() { return *machines_.front(); }
  /// The logs of all daemons so far.
  [[nodiscard]] std::string log() const;
  /// A hash of everything that was traced.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

  // --- for the machines ---
  Dice& dice() { return dice_; }
  Oracle& oracle() { return oracle_; }
  const Profile& profile() const { return profile_; }
  /// True if the team is on one machine.
  [[nodiscard]] bool is_alone() const { return network_ == nullptr; }
  Network* network() { return network_.get(); }
  [[nodiscard]] System system() const { return setup_.system; }
  /// True unless the part is left out.
  [[nodiscard]] bool has(const std::string& part) const { return !setup_.without.contains(part); }
  /// True until the faults of the episode stop.
  [[nodiscard]] bool is_troubled() const { return now() < trouble_until_; }
  /// All workers, on every machine.
  [[nodiscard]] const std::vector<std::string>& team() const { return team_; }
  void trace(const std::string& line);
  /// Lets virtual time pass for all machines but those that are in the middle of a call.
  void let_others_go_on(Span span);

 private:
  void add_machines();
  void add_peers();
  void add_line_peers(Machine& machine);
  void add_maildir_peers(Machine& machine);
  std::vector<std::shared_ptr<Worker>> add_workers(Machine& machine, const std::string& verifier,
                                                   const std::shared_ptr<Dice>& wishes);
  /// Lets each machine act once. If none has anything to do, time passes.
  void turn(Span end);
  void go_to(Span end);
  void upset_network();
  /// The machine that leads, or the only one; null if none leads.
  Machine* leader();
  std::string unsettled();
  void play_episode();
  void end_of_trouble();
  void check_boxes();
  void check_answers();
  void ask_now(Machine& machine, boost::json::object request,
               const std::function<void(const boost::json::object&)>& judge);

  const Setup setup_;
  const Profile& profile_;
  const std::uint64_t seed_;
  Span trouble_until_{};
  std::uint64_t digest_ = 14695981039346656037ULL;
  Dice dice_;
  test::ScratchDir scratch_;
  Oracle oracle_;
  std::unique_ptr<Network> network_;
  std::vector<std::string> team_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::multimap<Span, std::function<void()>> troubles_;  // of the network
};

}  // namespace inbox_poller::sim
