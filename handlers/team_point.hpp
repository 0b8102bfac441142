// The states of a team that the verb `wait` waits for.
#pragma once

#include <cstddef>
#include <string_view>

#include "handlers/worker_state.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class TeamPoint {
  idle,      // no worker works: each is idle, failed or gone; true without workers
  closed,    // no worker is left, and no shutdown is open
  mail,      // a message for the lead is queued
  answered,  // no request is open
};
BOOST_DESCRIBE_ENUM(TeamPoint, idle, closed, mail, answered)
inline std::string_view to_string(TeamPoint point) { return schema::name_of(point); }

struct TeamCounts {
  std::size_t present = 0;  // workers
  std::size_t working = 0;  // workers that are busy, waiting or unresponsive
  std::size_t shutdowns = 0;
  std::size_t requests = 0;
  std::size_t mail = 0;
};

/// Returns true if this worker keeps the team from being idle.
constexpr bool is_working(WorkerState state) {
  return state == WorkerState::busy || state == WorkerState::waiting || state == WorkerState::unresponsive;
}

constexpr bool is_at(TeamPoint point, const TeamCounts& counts) {
  switch (point) {
    case TeamPoint::idle: return counts.working == 0;
    case TeamPoint::closed: return counts.present == 0 && counts.shutdowns == 0;
    case TeamPoint::mail: return counts.mail > 0;
    case TeamPoint::answered: break;
  }
  return counts.requests == 0;
}

}  // namespace inbox_poller::handlers
