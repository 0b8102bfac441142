#include "handlers/worker_state.hpp"

namespace inbox_poller::handlers {

WorkerState state_of(const WorkerSigns& signs, config::Duration silent_after, EpochMs now_ms) {
  if (!signs.present) return WorkerState::gone;
  if (signs.open_asks > 0) return WorkerState::waiting;
  if (signs.last_report == "failed" || signs.last_report == "interrupted") return WorkerState::failed;
  // The report may be lost while the roster has it, and old rosters have nothing: either is enough.
  if (signs.last_report == "idle" || !signs.active) return WorkerState::idle;
  return now_ms - signs.last_seen_ms > silent_after.count() ? WorkerState::silent : WorkerState::busy;
}

}  // namespace inbox_poller::handlers
