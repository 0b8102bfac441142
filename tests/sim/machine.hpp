// One machine of a history: its disks, its clock, its peers and the lives of its daemon.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/daemon.hpp"
#include "tests/sim/oracle.hpp"
#include "tests/sim/team_files.hpp"

namespace inbox_poller::sim {

class World;
class Peer;
struct Profile;

class Machine {
 public:
  /// `folder` is real and empty. The team has `workers` here.
  Machine(World& world, std::string name, std::string folder, std::vector<std::string> workers, int number);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // --- for the peers ---
  [[nodiscard]] const std::string& name() const { return name_; }
  Dice& dice();
  Disk& disk() { return disk_; }
  Oracle& oracle();
  const Profile& profile() const;
  void trace(const std::string& line);
  /// True unless the part is left out.
  [[nodiscard]] bool has(const std::string& part) const;
  [[nodiscard]] std::uint64_t peer_dies_one_in() const;
  /// True until the faults of the episode stop.
  [[nodiscard]] bool is_troubled() const;
  /// What was begun may last so long: nothing is judged before.
  [[nodiscard]] TeamFiles& files() { return *files_of_team_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string inbox(const std::string& name) const { return files_of_team_->inbox(name); }
  [[nodiscard]] std::string lead_folder() const { return "/" + name_ + "/work"; }
  [[nodiscard]] std::string roster() const { return files_of_team_->roster(); }
  [[nodiscard]] bool has_member(const std::string& name) const { return files_of_team_->has_member(name); }
  /// Puts a member into the roster, or takes it out.
  void set_member(const std::string& name, bool is_member) { files_of_team_->set_member(name, is_member); }
  /// True if the daemon made the lock that stands there.
  [[nodiscard]] bool made_lock(const std::string& path) const;
  /// Changes the configuration, and asks the daemon to read it again.
  void change_rules();
  /// The workers' processes, and the panes that they began in.
  WorkerPanes& panes() { return panes_; }
  /// The pane of the lead's client.
  Terminal& terminal() { return terminal_; }
  /// The pane that the roster gives a member; empty: none.
  [[nodiscard]] std::string pane_of(const std::string& name) const;
  /// A process of this worker begins in a pane, and joins the team.
  void set_pane(const std::string& name, const std::string& pane) {
    pane_of_[name] = pane;
    joined_ms_[name] = system_ms();
  }
  /// The system time at which a worker has joined.
  [[nodiscard]] long long joined_ms(const std::string& name) const;
  /// Another consumer has marked an entry of the lead's box.
  void rival_took(const std::string& text);
  /// A number that nothing else on this machine has.
  int next_number() { return ++numbers_; }
  /// All workers of the team, on every machine.
  [[nodiscard]] const std::vector<std::string>& team() const;

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

  // --- for the world ---
  Rules& rules() { return rules_; }
  void add(std::shared_ptr<Peer> peer) { peers_.push_back(std::move(peer)); }
  [[nodiscard]] const std::vector<std::string>& workers() const { return workers_; }
  /// Starts the daemon and the peers.
  void start();
  /// Ends the daemon, for good.
  void stop();
  [[nodiscard]] bool is_busy() const { return is_busy_; }
  /// False while the machine is in the middle of a call, or stands still.
  [[nodiscard]] bool is_free() const { return !is_busy_ && now() >= still_until_; }
  /// Does what the peers have due, and one handler of the daemon. False if nothing was due; then wakes_at() says when
  /// something will be.
  bool act(Span end);
  [[nodiscard]] Span wakes_at() const;
  void begin_trouble();
  void end_trouble();
  /// What is still under way; empty if no unread entry is left.
  std::string unsettled();
  /// Notes what is marked as read in the lead's box: from then on it is the daemon's.
  void note_marks();
  /// What a client tore as it died is left to a person by all but client 2.1.50.
  void repair_files();
  /// Adds the texts that the lead's box holds.
  void read_box(std::set<std::string>& texts) const { files_of_team_->read_box(texts); }
  /// Judges what the daemon left.
  void check_files();
  [[nodiscard]] std::string log() const;

 private:
  using Steps = std::multimap<Span, std::function<void()>>;
  static bool take_due(Steps& steps);
  [[nodiscard]] Span next_step() const;
  /// The folder of all teams. An empty real folder has the same path, because the product checks its real parents.
  [[nodiscard]] std::string root() const { return folder_ + "/teams"; }
  void start_daemon();
  void upset_daemon();
  void end_daemon(bool may_stay_down);
  void crash(bool power);
  void cause_trouble();

  World& world_;
  const std::string name_, folder_;
  const std::vector<std::string> workers_;
  const int number_;
  Host host_;
  Disk disk_;
  LedgerDisk ledger_disk_;
  WorkerPanes panes_;
  Terminal terminal_;
  std::map<std::string, std::string> pane_of_;  // by worker
  std::map<std::string, long long> joined_ms_;
  Rules rules_;
  std::unique_ptr<TeamFiles> files_of_team_;
  Steps files_, talks_;
  bool in_peers_ = false, is_busy_ = false;
  Span still_until_{}, daemon_wakes_{};
  Span noted_at_{};
  int lives_ = 0, numbers_ = 0;
  std::unique_ptr<Daemon> daemon_;
  std::vector<std::shared_ptr<Peer>> peers_;
};

}  // namespace inbox_poller::sim
