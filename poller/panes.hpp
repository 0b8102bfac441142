// Terminal panes as tmux keeps them. A pane is told by its server's process, its id and its first process together:
// ids start again with every server. Text goes into one by bracketed paste, and keys one at a time, each of them only
// while the pane and what it shows are exactly as they were seen: look and deed are one step of the server, in which it
// reads nothing from the program and no keys of anybody else.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "poller/child.hpp"
#include "poller/processes.hpp"
#include "schema/error.hpp"
#include "schema/lead_screen.hpp"

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

/// A pane, and what stands between a paste and the program in it.
struct Front {
  Pane pane;
  bool in_mode = false;       // copy mode, a menu, a clock: keys are swallowed by it, pastes go past it
  bool takes_input = true;    // false: tmux drops what is typed (select-pane -d)
  bool synchronized = false;  // what is typed goes to the window's other panes too
  std::string command;        // the name of the program in front, as tmux tells it: hostile
  schema::Screen screen;
  int height = 0;
  long long history = 0;   // rows that have scrolled out
  bool alternate = false;  // the program has the screen to itself
  /// From this row on nothing may have changed when something is typed; the rows above it are text that moves on.
  std::size_t held_from = 0;
};

enum class Key {
  enter,
  erase_line,  // up to where the row begins (C-u)
  erase_back,  // one sign (backspace)
};

/// What came of typing into a pane.
struct Typed {
  enum class How { done, changed, unknown };
  How how = How::done;
  std::string why = {};  // a sentence, where it is not done
  explicit operator bool() const { return how == How::done; }
};

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
  /// The pane and what is in front of it now; empty as with find().
  virtual boost::asio::awaitable<Result<std::optional<Front>>> front(std::string id) = 0;
  /// Pastes the text, bracketed where the program asked for that, its newlines as newlines. Look and paste are one step
  /// of the server: `changed` when anything is not as seen (the rows from seen.held_from on, the cursor, what runs
  /// there), and nothing was pasted then; after `unknown` it may have been. `buffer` names the
  /// server's buffer that carries the text ([a-zA-Z0-9._-]); it is gone afterwards either way. The text must be safe
  /// for a terminal: tmux does not look into it.
  virtual boost::asio::awaitable<Typed> paste(Front seen, std::string buffer, std::string text) = 0;
  /// Presses this key, under the same condition and with the same outcomes.
  virtual boost::asio::awaitable<Typed> press(Front seen, Key key) = 0;
};

/// Speaks to tmux by running its command, never through a shell. `command` is how it is called, with the options that
/// choose the server.
class TmuxPanes final : public Panes {
 public:
  TmuxPanes(std::vector<std::string> command, Processes& processes);
  boost::asio::awaitable<Result<std::optional<Pane>>> find(std::string id) override;
  boost::asio::awaitable<Result<std::vector<Pane>>> list() override;
  boost::asio::awaitable<Status> close(Pane pane) override;
  boost::asio::awaitable<Result<std::optional<Front>>> front(std::string id) override;
  boost::asio::awaitable<Typed> paste(Front seen, std::string buffer, std::string text) override;
  boost::asio::awaitable<Typed> press(Front seen, Key key) override;

 private:
  /// Runs tmux; errors when it could not be run or did not answer in time. Its exit code is the caller's to judge.
  boost::asio::awaitable<Result<ChildResult>> run(std::vector<std::string> arguments, std::string input = {});
  /// Why nothing may be typed there; empty when what was seen lives.
  std::string has_ended(const Pane& seen);

  std::vector<std::string> command_;
  Processes& processes_;
};

}  // namespace inbox_poller::poller
