// One life of the daemon: the objects of poller/daemon.cpp without its sockets and signals, on simulated ports.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/json/object.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poller/control/verbs.hpp"
#include "poller/run/poll_loop.hpp"
#include "tests/sim/disk.hpp"
#include "tests/sim/ledger_disk.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/worker_panes.hpp"

namespace inbox_poller::sim {

/// What an operator changes in the configuration.
struct Rules {
  bool makes = false;                  // a rule allows `make`
  config::ClusterSettings nodes = {};  // empty: the team is on one machine
  bool may_lead = true;
  std::function<void(config::TeamConfig&)> configure = {};  // names the team's files
};

/// What outlives a daemon on its machine.
struct Home {
  Disk& disk;
  LedgerDisk& ledger_disk;
  Dice& dice;
  const std::string folder;  // real; the teams are below it in memory
  const Rules& rules;
  WorkerPanes& panes;
  Terminal& terminal;
  Network* network;  // null: no other machine
};

class Daemon {
 public:
  using Session = std::shared_ptr<poller::ControlSession>;

  /// Starts with what the disks have. Throws if the ledger cannot be opened. The process is killed at the `kill_in`-th
  /// call, also during the start; 0: not.
  Daemon(const Home& home, std::uint64_t kill_in);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  Fate& fate() { return fate_; }
  /// Runs one handler that is due. Otherwise returns for how long none will be, at most `most` in whole milliseconds.
  std::optional<Span> step(Span most);
  /// Asks it to end, as SIGTERM does, and runs it until it has ended.
  void stop();
  void ask(boost::json::object request, const Session& session, std::function<void(const boost::json::object&)> answer);
  Session connect();
  void hang_up(const Session& session);
  /// True if this daemon made the lock that stands there.
  [[nodiscard]] bool made_lock(const std::string& path) const { return files_.made_lock(path); }
  [[nodiscard]] bool has_failed() const { return failure_ != nullptr; }
  [[nodiscard]] std::string failure() const;
  /// What the daemon waits for in a world without faults; empty if it is at rest.
  [[nodiscard]] std::string unsettled() const;

 private:
  static std::unique_ptr<poller::Ledger> open_ledger(const std::string& path);
  static std::unique_ptr<poller::Telemetry> open_log(const std::string& path);
  static config::TeamConfig team_config(const std::string& root, const Rules& rules);

  Fate fate_;
  LedgerDisk& ledger_disk_;
  SimFiles files_;
  VirtualClock clock_;
  SimProcesses processes_;
  std::unique_ptr<poller::Telemetry> telemetry_;
  std::unique_ptr<poller::Ledger> ledger_;
  boost::asio::io_context context_{1};
  boost::asio::thread_pool pool_{1};
  poller::SystemManager manager_;
  poller::Quarantine quarantine_;
  poller::GroupCommit commits_;
  poller::Runtime services_;
  poller::PollLoop loop_;
  poller::Verbs verbs_;
  struct Line {
    Session session;
    int requests = 0;  // under way; what the lease of a closed line returns waits for their end
  };
  Line* line_of(const Session& session);
  void end_line(const Session& session);
  std::vector<Line> lines_;  // in order of connection, which is the same in each run
  int running_ = 0;
  std::exception_ptr failure_;
};

}  // namespace inbox_poller::sim
