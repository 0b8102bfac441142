// The state of a worker as the lead's side sees it: from its last report, its open requests, the roster, and its
// silence.
#pragma once

#include <string_view>

#include "config/config.hpp"
#include "handlers/handler.hpp"
#include "handlers/worker_report.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class WorkerState {
  idle,     // its last turn ended
  busy,     // has a task, wrote after it was idle, or was sent a text after it wrote
  waiting,  // a request of its own is open
  failed,   // its last turn failed
  unresponsive,  // busy, and silent for longer than team.unresponsive_after
  gone,     // no longer in the roster
};
BOOST_DESCRIBE_ENUM(WorkerState, idle, busy, waiting, failed, unresponsive, gone)
inline std::string_view to_string(WorkerState state) { return schema::name_of(state); }

struct WorkerSigns {
  bool present = true;           // in the roster
  bool active = true;            // the roster's isActive
  WorkerReport last_report = WorkerReport::none;
  std::uint32_t open_requests = 0;
  EpochMs last_seen_ms = 0;  // last message of any kind, or the join; for a worker never heard, the daemon's start
  EpochMs told_ms = 0;       // last text sent to the worker by InboxPoller; 0: none
};
WorkerState state_of(const WorkerSigns&, config::Duration unresponsive_after, EpochMs now_ms);

}  // namespace inbox_poller::handlers
