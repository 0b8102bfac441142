#include "handlers/worker_state.hpp"

#include <algorithm>

namespace inbox_poller::handlers {

WorkerState state_of(const WorkerSigns& signs, config::Duration unresponsive_after, EpochMs now_ms) {
  if (!signs.present) return WorkerState::gone;
  if (signs.open_requests > 0) return WorkerState::waiting;
  // A text begins a turn, and no other event shows that before the turn's end.
  const bool was_told = signs.told_ms > signs.last_seen_ms;
  if (!was_told && (signs.last_report == WorkerReport::failed || signs.last_report == WorkerReport::interrupted))
    return WorkerState::failed;
  // The report may be lost although the roster shows it, and old rosters show nothing: either is enough.
  if (!was_told && (signs.last_report == WorkerReport::idle || !signs.active)) return WorkerState::idle;
  const EpochMs last_ms = std::max(signs.last_seen_ms, signs.told_ms);
  return now_ms - last_ms > unresponsive_after.count() ? WorkerState::unresponsive : WorkerState::busy;
}

}  // namespace inbox_poller::handlers
