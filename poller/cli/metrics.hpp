// What `status` tells, as OpenMetrics text.
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace inbox_poller::poller::cli {

/// Labels are bounded: teams (200, then "other"), states, roles, outcomes; never a worker, an id or a path.
std::string metrics_text(const boost::json::object& status);

}  // namespace inbox_poller::poller::cli
