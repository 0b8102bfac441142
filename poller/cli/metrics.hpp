// The answer to `status` as OpenMetrics text.
#pragma once

#include <string>

#include "schema/operations/team.hpp"

namespace inbox_poller::poller::cli {

/// Formats the metrics. Label values are bounded: teams (200, then "other"), states, roles, outcomes. No label names a
/// worker, an id or a path.
std::string metrics_text(const operations::Status& status);

}  // namespace inbox_poller::poller::cli
