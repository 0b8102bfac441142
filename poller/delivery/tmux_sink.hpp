// The last resort: pasting into the terminal in which the lead runs. Nothing is typed blind: the pane is bound to its
// server, id and first process, and left alone unless its screen shows the client's composer, empty, between two turns.
// Enter is pressed only when the composer holds exactly what we pasted; otherwise that is taken back where it is
// provably ours and nothing else. Each of these is one step of the tmux server with a last look (docs/adr/0023). Every
// control byte is taken out of what is pasted.
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

  /// Why nothing can be pasted at all (no pane is known); empty when it may be tried. `told` is the pane that the
  /// lead's hooks named.
  [[nodiscard]] std::string unavailable(const std::string& told) const;

  /// What is pasted for these messages (tmux.payload): their block, made safe for a terminal, and of so many lines that
  /// the client shows its sign for a pasted text: of a long text it would show the end only.
  [[nodiscard]] static std::string text_for(const std::vector<Offered>&);
  /// One line without anybody's words in it: how many wait, and the command that prints them. Says that it may be a
  /// repeat while an earlier paste may still stand in the terminal, or somebody may have submitted it.
  [[nodiscard]] std::string pointer(std::size_t count) const;

  /// Success when something could be pasted now. Errors ("tmux.…") say what is in the way and what to do.
  boost::asio::awaitable<Status> ready(std::string told);

  /// Pastes the text and submits it. Errors as above; nothing was submitted then. After "tmux.enter" and "tmux.unknown"
  /// the text may stand in the client's composer.
  boost::asio::awaitable<Status> paste(std::string told, std::string text);

 private:
  /// A pane and what its screen shows.
  struct Seen {
    Front front;
    schema::ScreenReading reading;
  };
  boost::asio::awaitable<Result<Seen>> look(std::string told);
  /// With an empty composer; what an earlier paste left there is taken back.
  boost::asio::awaitable<Result<Seen>> look_for_empty(std::string told);
  /// With the composer holding exactly this text, its cursor behind it.
  boost::asio::awaitable<Result<Seen>> look_for(std::string told, const std::string& text);
  boost::asio::awaitable<Status> submit(std::string told, std::string text);
  /// Success when the composer is empty.
  boost::asio::awaitable<Status> take_back(std::string told);

  TeamState& context_;
  Panes& panes_;
  std::optional<Pane> bound_;  // as it was at the first look
  std::string standing_;       // a paste that may stand in the composer: it was not seen empty since
  bool may_repeat_ = false;    // of a paste it is not known whether somebody submitted it
};

/// Why the client's screen lets nothing be pasted, and what to do; empty when its composer is there and empty.
std::string why_not(const schema::ScreenReading&);

/// Without anything that a terminal would obey or nobody could see: C0 but newline and tab, DEL, C1, invisible
/// characters. Valid UTF-8, whatever came in.
std::string paste_safe(std::string_view text);

/// True for the names of programs that would carry out what is pasted, or treat it as keys: shells, pagers, editors.
bool obeys_pastes(std::string_view command);

}  // namespace inbox_poller::poller
