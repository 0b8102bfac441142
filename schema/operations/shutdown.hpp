// What is told of shutdowns.
#pragma once

#include "schema/operations/record.hpp"

namespace inbox_poller::operations {

struct Shutdown {
  Text team, request_id, member, by, reason, state;
  bool open = false;
  long long requested_ms = 0, changed_ms = 0, remind_ms = 0, reminded_ms = 0, force_ms = 0, timeout_ms = 0;
  Text backend, pane_id;
  std::vector<long long> processes;
  Text left_alone, answer, tasks, detail;
};
BOOST_DESCRIBE_STRUCT(Shutdown, (), (team, request_id, member, by, reason, state, open, requested_ms, changed_ms, remind_ms, reminded_ms, force_ms,
                                     timeout_ms, backend, pane_id, processes, left_alone, answer, tasks, detail))

struct Shutdowns {
  std::vector<Shutdown> shutdowns;
};
BOOST_DESCRIBE_STRUCT(Shutdowns, (), (shutdowns))

/// A worker that could not be asked, and why.
struct RefusedMember {
  Text member, code, message;
};
BOOST_DESCRIBE_STRUCT(RefusedMember, (), (member, code, message))

struct ShutdownsBegun {
  std::vector<Shutdown> shutdowns;
  std::vector<RefusedMember> refused;
};
BOOST_DESCRIBE_STRUCT(ShutdownsBegun, (), (shutdowns, refused))

}  // namespace inbox_poller::operations
