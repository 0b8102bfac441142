// Terminal panes of tmux. A pane is identified by its server's process, its id and its first process, because ids
// restart with every server.
// Text is pasted with brackets; keys are sent one at a time. Each requires that the pane and its screen are as seen.
// The server checks and acts in one step, without reading from the program or other keys in between.
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
  ProcessRef first;   // the pane's first process; once that has ended, only its number
  bool dead = false;  // has ended: kept open, or about to close
};

/// True when both are one pane: same server, id and first process, which may have ended since.
bool is_same(const Pane& now, const Pane& then);

/// A pane, and the state that affects input to its program.
struct Front {
  Pane pane;
  bool in_mode = false;       // copy mode, a menu, a clock: takes keys, but not pastes
  bool takes_input = true;    // false: tmux drops input (select-pane -d)
  bool synchronized = false;  // input also goes to the window's other panes
  std::string command;        // name of the foreground program as tmux gives it: hostile
  schema::Screen screen;
  int height = 0;
  long long history = 0;   // rows scrolled out
  bool alternate = false;  // the program uses the alternate screen
  /// From this row on nothing may change before input is sent; rows above may scroll.
  std::size_t held_from = 0;
};

enum class Key {
  enter,
  erase_line,  // to the beginning of the row (C-u)
  erase_back,  // one character (backspace)
};

/// The outcome of input to a pane.
struct Typed {
  enum class How { done, changed, unknown };
  How how = How::done;
  std::string why = {};  // a sentence, unless done
  explicit operator bool() const { return how == How::done; }
};

class Panes {
 public:
  virtual ~Panes() = default;
  /// Finds the pane with this id; empty when the server has none, or no server runs. Error "panes.unavailable": no
  /// tmux, or no answer in time.
  virtual boost::asio::awaitable<Result<std::optional<Pane>>> find(std::string id) = 0;
  /// Lists all panes of the server. Error "panes.unavailable".
  virtual boost::asio::awaitable<Result<std::vector<Pane>>> list() = 0;
  /// Closes exactly this pane, which is checked just before. Success also if it is gone. Error "panes.unavailable".
  virtual boost::asio::awaitable<Status> close(Pane pane) = 0;
  /// Returns the pane and its state; empty as with find(). Error "panes.unavailable".
  virtual boost::asio::awaitable<Result<std::optional<Front>>> front(std::string id) = 0;
  /// Pastes the text, with brackets if the program wants them; newlines stay newlines. The server checks and pastes in
  /// one step. `changed`: something differs from `seen` (rows from seen.held_from on, cursor, program), and nothing was
  /// pasted. `unknown`: it may have been pasted.
  /// `buffer`: name of the server's buffer for the text ([a-zA-Z0-9._-]), removed afterwards. The text must be safe
  /// for a terminal, because tmux does not check it.
  virtual boost::asio::awaitable<Typed> paste(Front seen, std::string buffer, std::string text) = 0;
  /// Presses this key, with the same condition and outcomes.
  virtual boost::asio::awaitable<Typed> press(Front seen, Key key) = 0;
};

/// Runs the tmux command, without a shell. `command`: the program and the options that choose the server.
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
  /// Runs tmux. Error "panes.unavailable": not started, or no answer in time. The caller evaluates the exit code.
  boost::asio::awaitable<Result<ChildResult>> run(std::vector<std::string> arguments, std::string input = {});
  /// Explains why nothing may be typed into the pane; empty while its processes live.
  std::string has_ended(const Pane& seen);

  std::vector<std::string> command_;
  Processes& processes_;
};

}  // namespace inbox_poller::poller
