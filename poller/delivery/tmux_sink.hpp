// Pastes messages into the lead's terminal, the last resort. The pane is bound to its server, id and first process.
// Nothing is pasted unless the screen shows the client's composer, empty, between two turns. Enter is pressed only
// while the composer holds exactly the pasted text. Otherwise the paste is withdrawn if it is provably ours and alone.
// The tmux server runs each of these as one step that checks again (docs/adr/0023). All control bytes are removed from
// a paste.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/context/team_state.hpp"
#include "poller/delivery/sinks.hpp"
#include "poller/panes.hpp"

namespace inbox_poller::poller {

class TmuxSink {
 public:
  TmuxSink(TeamState& context, Panes& panes) : context_(context), panes_(panes) {}

  /// Reason why no paste is possible (no known pane); empty when it may be tried. `told` is the pane reported by the
  /// lead's hooks.
  [[nodiscard]] std::string unavailable(const std::string& told) const;

  /// Text to paste for these messages (tmux.payload): their block, made safe for a terminal. It has enough lines for
  /// the client to show its placeholder for pasted text. A shorter long text would show only its end.
  [[nodiscard]] static std::string text_for(const std::vector<LeasedMessage>&);
  /// One line without any sender's text: the number of waiting messages and the command that prints them. Warns of a
  /// possible repeat while an earlier paste may still stand in the terminal, or may have been submitted.
  [[nodiscard]] std::string pointer(std::size_t count) const;

  /// Succeeds when a paste is possible now. Errors: "tmux.…", with the obstacle and the remedy.
  boost::asio::awaitable<Status> ready(std::string told);

  /// Pastes and submits the text. Errors: as ready(); then nothing was submitted. After "tmux.enter" and "tmux.unknown"
  /// the text may stand in the client's composer.
  boost::asio::awaitable<Status> paste(std::string told, std::string text);

 private:
  /// A pane and its evaluated screen.
  struct Seen {
    Front front;
    schema::ScreenReading reading;
  };
  boost::asio::awaitable<Result<Seen>> look(std::string told);
  /// Finds the pane with an empty composer; withdraws the rest of an earlier paste.
  boost::asio::awaitable<Result<Seen>> look_for_empty(std::string told);
  /// Finds the pane with exactly this text in the composer and the cursor after it.
  boost::asio::awaitable<Result<Seen>> look_for(std::string told, const std::string& text);
  boost::asio::awaitable<Status> submit(std::string told, std::string text);
  /// Withdraws our paste; succeeds when the composer is empty.
  boost::asio::awaitable<Status> clear_paste(std::string told);

  TeamState& context_;
  Panes& panes_;
  std::optional<Pane> bound_;  // as first seen
  std::string uncleared_;       // a paste that may stand in the composer, because the composer was not seen empty since
  bool may_repeat_ = false;    // a paste may have been submitted
};

/// Reason why the client's screen allows no paste, and the remedy; empty when its composer is there and empty.
std::string why_not(const schema::ScreenReading&);

/// Removes everything that a terminal would obey or that is invisible: C0 except newline and tab, DEL, C1, invisible
/// characters. Returns valid UTF-8 for any input.
std::string paste_safe(std::string_view text);

/// True for names of programs that would run a paste or treat it as keys: shells, pagers, editors.
bool obeys_pastes(std::string_view command);

}  // namespace inbox_poller::poller
