#include "handlers/lead_process.hpp"

namespace inbox_poller::handlers {

LeadProcessState state_of(const LeadProcessSight& sight) {
  // The same number and start are the same process, even if the machine's name has changed.
  if (sight.lives && sight.began_then.value_or(false)) return LeadProcessState::lives;
  if (!sight.is_here) return LeadProcessState::elsewhere;
  if (!sight.lives || sight.began_then.has_value() || sight.began_later) return LeadProcessState::gone;
  return LeadProcessState::lives;
}

bool reads_inbox(const LeadSessionSight& sight) {
  return sight.mode == schema::ClientMode::interactive && sight.began_ms > 0 && sight.began_ms < sight.made_ms;
}

}  // namespace inbox_poller::handlers
