// The delivery methods of the lead: their attached receivers, their back-off after a failure, and the chosen one.
// handlers/delivery_method.hpp has the rule of choice.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "handlers/hook_proof.hpp"
#include "handlers/delivery_method.hpp"
#include "poller/context/team_state.hpp"
#include "poller/delivery/lead_activity.hpp"
#include "poller/delivery/tmux_sink.hpp"

namespace inbox_poller::poller {

using handlers::MethodState;

class Routes {
 public:
  Routes(TeamState& context, const LeadActivity& lead, const TmuxSink& tmux)
      : context_(context), lead_(lead), tmux_(tmux) {}

  /// Adds a receiver that is ready to take messages by this method until detach(): a program that runs the lead, a
  /// waiting hook, or a follower.
  void attach(config::DeliveryMethod method) { stand_at(method, 1); }
  void detach(config::DeliveryMethod method) { stand_at(method, -1); }
  [[nodiscard]] bool is_attached(config::DeliveryMethod method) const;

  /// States of the methods, in the order of delivery.methods.
  [[nodiscard]] std::vector<MethodState> methods() const;
  [[nodiscard]] std::optional<config::DeliveryMethod> chosen() const { return handlers::choose(methods()); }

  /// Reason why hooks do not wake an idle lead; empty if they do, or if no hook of its session has reported yet.
  [[nodiscard]] std::string why_not_woken(const handlers::ClientSight&) const;

  /// Records a batch by this method under the name `method`. Logs a change of the method.
  void went(config::DeliveryMethod method, const std::string& receiver);
  /// Records that this method carried only the line that tells how to get the messages.
  void went(config::DeliveryMethod method);
  /// Records that the last batch was received by hand, outside of the chosen method.
  void leased_by(const std::string& method) { last_method_ = method; }
  [[nodiscard]] const std::string& last_method() const { return last_method_; }

  /// Starts the back-off of a failed method.
  void failed(config::DeliveryMethod method, const Error& why);
  void works(config::DeliveryMethod method) { backoff_.erase(method); }
  [[nodiscard]] bool is_backing_off(config::DeliveryMethod method) const { return !state_of(method).available; }

 private:
  struct Backoff {
    SteadyTime until{};
    int failures = 0;
    std::string why;
  };
  void stand_at(config::DeliveryMethod method, int more) {
    attached_[method] += more;
    context_.changed(only(Area::teams));
  }
  [[nodiscard]] MethodState state_of(config::DeliveryMethod) const;

  TeamState& context_;
  const LeadActivity& lead_;
  const TmuxSink& tmux_;
  std::map<config::DeliveryMethod, int> attached_;
  std::map<config::DeliveryMethod, Backoff> backoff_;
  std::optional<config::DeliveryMethod> last_way_;
  std::string last_method_;
};

}  // namespace inbox_poller::poller
