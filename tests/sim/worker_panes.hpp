// The workers' processes on one machine, each in a tmux pane of its own, and what one daemon sees of them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poller/panes.hpp"
#include "poller/processes.hpp"
#include "tests/sim/fate.hpp"
#include "tests/sim/terminal.hpp"

namespace inbox_poller::sim {

/// The medium. A pane's first process is the client, or a shell that runs the client.
class WorkerPanes {
 public:
  using Signaled = std::function<void(int number)>;  // also when its pane is closed
  struct Client {
    std::string agent;      // "w2@t", on its command line; empty: the client hides its arguments
    bool verifies = false;  // its command line has the lead's key
    bool in_shell = false;  // the shell, and so the pane, stays when the client ends
    Signaled on_signal = {};
  };
  /// A client begins in a new pane. Returns the pane's id.
  std::string open(Client client);
  /// The client in this pane ends. Nothing happens if it has ended.
  void end(const std::string& pane);
  /// The tmux server and all its panes go away. A new server numbers its panes from the beginning.
  void lose_all();

 private:
  friend class SimProcesses;
  friend class SimPanes;
  struct Process {
    poller::ProcessRef ref;
    Client client;
    bool is_shell = false;
    long long parent = 0;
    long long started_ms = 0;
  };
  struct Pane {
    poller::ProcessRef server, first;
    long long client = 0;  // process id
  };
  long long start(Client client, bool is_shell, long long parent);
  std::map<long long, Process> processes_;  // those that live, by number
  std::map<std::string, Pane> panes_;       // by id
  long long last_pid_ = 5000, server_ = 0;
  int last_pane_ = 0;
};

/// One daemon's view of the processes. A dead daemon does nothing.
class SimProcesses final : public poller::Processes {
 public:
  SimProcesses(WorkerPanes& panes, Fate& fate) : panes_(panes), fate_(fate) {}
  Result<poller::ProcessRef> identify(long long pid) override;
  bool is_alive(const poller::ProcessRef&) override;
  std::vector<poller::ProcessRef> family(const poller::ProcessRef&) override;
  std::vector<poller::ProcessRef> families(const std::vector<poller::ProcessRef>&) override;
  std::optional<poller::ProcessRef> in_front_of(const poller::ProcessRef& shell) override;
  std::vector<std::string> arguments(const poller::ProcessRef&) override;
  std::vector<poller::ProcessRef> with_word(std::string_view word) override;
  long long started_ms(const poller::ProcessRef&) override;
  bool may_signal(const poller::ProcessRef&) override { return true; }
  Status signal(const poller::ProcessRef&, int number) override;

 private:
  const WorkerPanes::Process* find(const poller::ProcessRef&) const;
  WorkerPanes& panes_;
  Fate& fate_;
};

/// One daemon's tmux command. Each call takes some milliseconds, and may fail.
class SimPanes final : public poller::Panes {
 public:
  SimPanes(WorkerPanes& panes, Terminal& terminal, Fate& fate) : panes_(panes), terminal_(terminal), fate_(fate) {}
  boost::asio::awaitable<Result<std::optional<poller::Pane>>> find(std::string id) override;
  boost::asio::awaitable<Result<std::vector<poller::Pane>>> list() override;
  boost::asio::awaitable<Status> close(poller::Pane pane) override;
  boost::asio::awaitable<Result<std::optional<poller::Front>>> front(std::string id) override;
  boost::asio::awaitable<poller::Typed> paste(poller::Front seen, std::string buffer, std::string text) override;
  boost::asio::awaitable<poller::Typed> press(poller::Front seen, poller::Key key) override;

 private:
  boost::asio::awaitable<Status> run();
  std::optional<poller::Pane> look(const std::string& id) const;
  /// Types into the lead's pane. A call that fails may have typed.
  template <typename Act>
  boost::asio::awaitable<poller::Typed> type(Act act);
  WorkerPanes& panes_;
  Terminal& terminal_;
  Fate& fate_;
};

}  // namespace inbox_poller::sim
