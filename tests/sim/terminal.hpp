// The terminal pane of a lead's client: what its screen shows, what stands in its composer, and what the daemon's tmux
// command sees and types. The screens are those of tests/fixtures/screens, reduced to what the reader of screens uses.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "poller/panes.hpp"

namespace inbox_poller::sim {

class Terminal {
 public:
  static constexpr const char* id = "%900";
  enum class Shows { shell, composer, running, dialog };
  struct Piece {
    std::string text;
    bool is_pasted = false;  // by the daemon; otherwise a person has typed it
  };

  Shows shows = Shows::shell;
  std::vector<Piece> typed;                              // in the composer
  int turns = 0;                                         // shown above the composer
  std::function<void()> on_enter;                        // the composer is submitted
  std::function<void(const std::string&)> on_violation;  // the daemon has typed what it must not type

  [[nodiscard]] poller::Front front() const;
  /// As the tmux server does it: nothing happens if the screen is not as it was seen.
  poller::Typed paste(const poller::Front& seen, const std::string& text);
  poller::Typed press(const poller::Front& seen, poller::Key key);
  /// The composer's text, as it is submitted.
  [[nodiscard]] std::string text() const;
  /// True if nothing but a paste of the daemon stands there.
  [[nodiscard]] bool holds_paste_only() const;

 private:
  [[nodiscard]] bool is_as_seen(const poller::Front& seen) const;
};

}  // namespace inbox_poller::sim
