// One history: a daemon of real code on simulated time, files and a simulated disk below its ledger, peers as models,
// and chance. Everything runs on one thread, in an order that only the seed decides.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  Span length = std::chrono::minutes(3);  // until the faults stop
  Span crash_every{};                     // mean; zero: never
  std::uint64_t power_one_in = 0;         // of the crashes: the machine loses its power
  std::uint64_t error_one_in = 0;         // calls
  std::uint64_t pause_one_in = 0;         // calls
  Span trouble_every{};                   // mean; full disk, jumps of the clock, graceful restarts
  std::uint64_t peer_dies_one_in = 0;     // steps of a peer
  Span chat_every = std::chrono::seconds(3);
};
const Profile* profile_of(const std::string& name);
std::vector<std::string> profile_names();

class Daemon;
class Peer;

class World {
 public:
  World(std::uint64_t seed, const Profile& profile, bool traces);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Plays the history and returns its violations.
  std::vector<std::string> play();
  /// A hash of everything that was traced.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

  // --- for the peers ---
  Dice& dice() { return dice_; }
  Disk& disk() { return disk_; }
  Oracle& oracle() { return oracle_; }
  const Profile& profile() const { return profile_; }
  /// True until the faults stop.
  [[nodiscard]] bool is_troubled() const { return now() < profile_.length; }
  void trace(const std::string& line);
  [[nodiscard]] std::string inbox(const std::string& name) const { return root() + "/t/inboxes/" + name + ".json"; }
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
  void start_daemon();
  void end_daemon();
  void crash(bool power);
  void note_marks();
  void cause_trouble();
  void go_to(Span end);
  bool is_settled();
  void check_status();

  const Profile& profile_;
  bool traces_;
  std::uint64_t digest_ = 14695981039346656037ULL;
  Dice dice_;
  Disk disk_;
  LedgerDisk ledger_disk_;
  test::ScratchDir scratch_;
  Oracle oracle_;
  Steps files_, talks_;
  bool in_peers_ = false;
  std::string seen_lead_box_;
  int lives_ = 0;
  std::unique_ptr<Daemon> daemon_;
  std::vector<std::shared_ptr<Peer>> peers_;
};

}  // namespace inbox_poller::sim
