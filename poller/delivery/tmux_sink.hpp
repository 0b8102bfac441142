// The last resort: pasting into the terminal in which the lead runs. Nothing is typed blind: the pane is bound to its
// server, id and first process, looked at again before each step, and left alone in copy mode, when it is dead, or when
// a shell is in front. Every control byte is taken out of what is pasted.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/context/team_context.hpp"
#include "poller/delivery/sinks.hpp"
#include "poller/panes.hpp"

namespace inbox_poller::poller {

class TmuxSink {
 public:
  TmuxSink(TeamContext& context, Panes& panes) : context_(context), panes_(panes) {}

  /// Why nothing can be pasted at all (no pane is known); empty when it may be tried. `told` is the pane that the
  /// lead's hooks named.
  [[nodiscard]] std::string unavailable(const std::string& told) const;

  /// What is pasted for these messages (tmux.payload): their block, made safe for a terminal.
  [[nodiscard]] static std::string text_for(const std::vector<OutgoingMessage>&);
  /// One line without anybody's words in it: how many wait, and the command that prints them. Says that it may be a
  /// repeat while an earlier paste may still stand in the terminal.
  [[nodiscard]] std::string pointer(std::size_t count) const;

  /// Pastes the text and submits it. Errors ("tmux.…") say what was in the way and what to do; nothing was submitted
  /// then. After "tmux.enter" and "tmux.unknown" the text may stand in the program's composer.
  boost::asio::awaitable<Status> paste(std::string told, std::string text);

  /// Another session of the lead has told its pane: whatever runs there now is bound at the next look.
  void forget() { bound_.reset(); }

 private:
  boost::asio::awaitable<Result<Front>> look(std::string told);

  TeamContext& context_;
  Panes& panes_;
  std::optional<Pane> bound_;  // as it was at the first look
  bool unsent_ = false;        // a paste may stand in the terminal that was not submitted
};

/// Without anything that a terminal would obey or nobody could see: C0 but newline and tab, DEL, C1, invisible
/// characters. Valid UTF-8, whatever came in.
std::string paste_safe(std::string_view text);

/// True for the names of programs that would carry out what is pasted, or treat it as keys: shells, pagers, editors.
bool obeys_pastes(std::string_view command);

}  // namespace inbox_poller::poller
