// What a worker is doing, as far as the lead's side can know: from its last report, its open asks, the roster and its
// silence.
#pragma once

#include <string_view>

#include "config/config.hpp"
#include "handlers/handler.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class WorkerState {
  idle,     // its last turn ended
  busy,     // has a task, wrote since it was last idle, or was sent a text since it wrote
  waiting,  // an ask of its own is open
  failed,   // its last turn ended badly
  silent,   // busy, and not heard of for longer than team.silent_after
  gone,     // no longer in the roster
};
BOOST_DESCRIBE_ENUM(WorkerState, idle, busy, waiting, failed, silent, gone)
inline std::string_view to_string(WorkerState state) { return schema::name_of(state); }

struct WorkerSigns {
  bool present = true;           // in the roster
  bool active = true;            // the roster's isActive
  std::string_view last_report;  // WorkerStatus::state of the last status message; empty: none yet
  std::uint32_t open_asks = 0;
  EpochMs last_seen_ms = 0;  // last message of any kind, or when it joined
  EpochMs told_ms = 0;       // when it was last sent a text; 0: not by us
};
WorkerState state_of(const WorkerSigns&, config::Duration silent_after, EpochMs now_ms);

}  // namespace inbox_poller::handlers
