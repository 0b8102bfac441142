#include "poller/lead_process.hpp"

namespace inbox_poller::poller {
namespace {

constexpr long long claiming_ms = 5000;  // from a process's start to its claim, with clock differences

}  // namespace

handlers::LeadProcessSight look_at(const schema::LeadProcess& claim, Processes& processes) {
  handlers::LeadProcessSight sight;
  const std::string ours = process_space();
  sight.is_here = claim.pid_space.empty() || ours.empty() || claim.pid_space == ours;
  const auto process = processes.identify(claim.pid);
  sight.lives = process.ok();
  if (!process) return sight;
  sight.began_then = began_at(*process, claim.started);
  sight.began_later = claim.claimed_at_ms != 0 && processes.started_ms(*process) > claim.claimed_at_ms + claiming_ms;
  return sight;
}

std::string claim_of(const schema::LeadProcess& claim) {
  return "lead-process:" + std::to_string(claim.pid) + ":" +
         (claim.started.empty() ? std::to_string(claim.claimed_at_ms) : claim.started);
}

}  // namespace inbox_poller::poller
