// The kinds of rules that people give for one session of a lead.
#pragma once

#include <string_view>

#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class RuleKind {
  permission,  // which tool calls are allowed or denied
  host,        // whether one domain may be reached
  team,        // a permission rule that was also sent to the workers
};
BOOST_DESCRIBE_ENUM(RuleKind, permission, host, team)
inline std::string_view to_string(RuleKind kind) { return schema::name_of(kind); }

}  // namespace inbox_poller::handlers
