// Terminal panes as tmux keeps them. A pane is told by its server's process, its id and its first process together:
// ids start again with every server. What it is not: a way to type into one.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/processes.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

struct Pane {
  std::string id;     // "%7"
  ProcessRef server;  // the tmux server
  ProcessRef first;   // the pane's first process; when that has ended, its number only
  bool dead = false;  // it has ended: kept open, or about to go
};

/// True when the pane seen now is the one that was seen then: same server, id and first process, which may have ended
/// meanwhile.
bool is_same(const Pane& now, const Pane& then);

class Panes {
 public:
  virtual ~Panes() = default;
  /// The pane with this id now; empty when the server runs and has none, or when no server runs. Errors
  /// ("panes.unavailable"): tmux is not there, or did not answer within its time.
  virtual boost::asio::awaitable<Result<std::optional<Pane>>> find(std::string id) = 0;
  /// All panes of the server.
  virtual boost::asio::awaitable<Result<std::vector<Pane>>> list() = 0;
  /// Closes exactly this pane: looked at again just before. Success also when it has gone meanwhile.
  virtual boost::asio::awaitable<Status> close(Pane pane) = 0;
};

/// True for "%" and digits, the only ids that are ever handed to tmux.
bool is_pane_id(std::string_view text);

/// Speaks to tmux by running its command, never through a shell. `command` is how it is called, with the options that
/// choose the server.
class TmuxPanes final : public Panes {
 public:
  TmuxPanes(std::vector<std::string> command, Processes& processes);
  boost::asio::awaitable<Result<std::optional<Pane>>> find(std::string id) override;
  boost::asio::awaitable<Result<std::vector<Pane>>> list() override;
  boost::asio::awaitable<Status> close(Pane pane) override;

 private:
  std::vector<std::string> command_;
  Processes& processes_;
};

}  // namespace inbox_poller::poller
