// The ways on which chat can go to the lead: who stands at which, which of them rest after a failure, and which one is
// chosen now. The ladder's rule is handlers/ladder.hpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "handlers/hook_proof.hpp"
#include "handlers/ladder.hpp"
#include "poller/context/team_state.hpp"
#include "poller/delivery/lead_activity.hpp"
#include "poller/delivery/tmux_sink.hpp"

namespace inbox_poller::poller {

using handlers::WayState;

class Routes {
 public:
  Routes(TeamState& context, const LeadActivity& lead, const TmuxSink& tmux)
      : context_(context), lead_(lead), tmux_(tmux) {}

  /// Somebody is at this way, ready to take messages, until detach(): a host that runs the lead, a hook that waits, a
  /// follower.
  void attach(config::Way way) { stand_at(way, 1); }
  void detach(config::Way way) { stand_at(way, -1); }
  [[nodiscard]] bool is_attached(config::Way way) const;

  /// The ladder as it stands, in the order of delivery.via.
  [[nodiscard]] std::vector<WayState> ladder() const;
  [[nodiscard]] std::optional<config::Way> chosen() const { return handlers::choose(ladder()); }

  /// Why hooks do not wake the lead when it is idle; empty where they do, and where no hook of its session was heard.
  [[nodiscard]] std::string why_not_woken(const handlers::ClientSight&) const;

  /// A batch went this way; `sink`: how that is recorded. A change of way is logged.
  void went(config::Way way, const std::string& sink);
  /// Only a line that says how to get the messages went this way.
  void went(config::Way way);
  /// The last batch was taken by hand, whatever the ladder says.
  void lent_by(const std::string& sink) { last_sink_ = sink; }
  [[nodiscard]] const std::string& last_sink() const { return last_sink_; }

  /// This way failed and rests for a while.
  void failed(config::Way way, const Error& why);
  void works(config::Way way) { backoff_.erase(way); }
  [[nodiscard]] bool rests(config::Way way) const { return backoff_.contains(way); }

 private:
  struct Backoff {
    SteadyTime until{};
    int failures = 0;
    std::string why;
  };
  void stand_at(config::Way way, int more) {
    attached_[way] += more;
    context_.changed(only(Area::teams));
  }
  [[nodiscard]] WayState state_of(config::Way) const;

  TeamState& context_;
  const LeadActivity& lead_;
  const TmuxSink& tmux_;
  std::map<config::Way, int> attached_;
  std::map<config::Way, Backoff> backoff_;
  std::optional<config::Way> last_way_;
  std::string last_sink_;
};

}  // namespace inbox_poller::poller
