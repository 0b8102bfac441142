// Tells a person of asks by running the configured program (person.notify): once when an ask opens, once when one that
// was told of is decided. What was told is in the ask's history, so a restart tells nothing twice. Invariants: one
// program at a time; nothing else waits for it; what it does or fails to do changes no ask.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "poller/context/team_context.hpp"

namespace inbox_poller::poller {

class Notifier {
 public:
  explicit Notifier(TeamContext& context) : context_(context) {}

  /// Picks up decisions of the last day of which a person, told of the ask, has not heard.
  Status restore();

  /// To be told when its turn comes. False when it cannot be noted now (no program, or too many wait): ask again later.
  bool asked(const handlers::Ask&);
  void decided(const handlers::Ask&);

  [[nodiscard]] bool owes() const { return !errands_.empty(); }
  /// Tells the next one, if one is due. True when another may be due at once. When `given_up` becomes true the program
  /// is ended, and what it was told is told again after the next start.
  boost::asio::awaitable<bool> tell_next(std::function<bool()> given_up);

 private:
  struct Errand {
    handlers::AskName ask;
    bool decided = false;
  };

  bool note(const handlers::Ask&, bool decided);
  /// What is to be told: the ask as it stands now; nothing when there is nothing to tell (any more).
  Result<std::optional<handlers::Ask>> due(const Errand&) const;
  boost::asio::awaitable<Status> run(handlers::Ask request, bool decided, std::function<bool()> given_up) const;
  void record(const handlers::Ask&, Event, const std::string& reason) const;

  TeamContext& context_;
  std::deque<Errand> errands_;
  int tries_ = 0;            // of the first one
  SteadyTime not_before_{};  // likewise
  bool running_ = false;
  bool overflow_told_ = false;
};

}  // namespace inbox_poller::poller
