// The last resort: pasting into the terminal in which the lead runs. Nothing is typed blind: the pane is bound to its
// server, id and first process, looked at again before each step, and left alone in copy mode, when it is dead, or when
// a shell is in front. Every control byte is taken out of what is pasted.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "poller/context/team_context.hpp"
#include "poller/delivery/sinks.hpp"
#include "poller/panes.hpp"

namespace inbox_poller::poller {

class TmuxSink {
 public:
  TmuxSink(TeamContext& context, Panes& panes) : context_(context), panes_(panes) {}

  /// Why nothing can be pasted at all (no pane is known); empty when it may be tried. `told` is the pane that the lead's
  /// hooks named.
  [[nodiscard]] std::string unavailable(const std::string& told) const;

  /// What is pasted for these messages (tmux.payload): their block, made safe for a terminal.
  [[nodiscard]] static std::string text_for(const std::vector<OutgoingMessage>&);
  /// One line without anybody's words in it: how many wait, and the command that prints them.
  [[nodiscard]] std::string pointer(std::size_t count) const;

  /// Pastes the text and submits it. Errors ("tmux.…") say what was in the way; nothing was submitted then.
  boost::asio::awaitable<Status> paste(std::string told, std::string text);

 private:
  TeamContext& context_;
  Panes& panes_;
};

/// Without anything that a terminal would obey: C0 but newline and tab, DEL, C1, invalid UTF-8.
std::string paste_safe(std::string_view text);

}  // namespace inbox_poller::poller
