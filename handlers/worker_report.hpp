// What a worker last reported about its turn or its task.
#pragma once

#include <string_view>

#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class WorkerReport {
  none,         // nothing yet
  idle,         // its turn ended
  failed,       // its turn ended with an error
  interrupted,  // a person ended its turn
  assigned,     // it has a task
  completed,    // it finished a task
};
BOOST_DESCRIBE_ENUM(WorkerReport, none, idle, failed, interrupted, assigned, completed)
inline std::string_view to_string(WorkerReport report) { return schema::name_of(report); }

}  // namespace inbox_poller::handlers
