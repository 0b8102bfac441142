// The calls that two permission rules share. A worker that takes over a rule stops asking, which bypasses every deny
// and ask rule for the same calls. Only a rule without shared calls is sent to workers (docs/adr/0028). Invariant:
// *disjoint* is proven; everything unproven overlaps. Works on the rules alone, without a call or a worker's directory.
// The clients' reading of a rule counts, which is wider than InboxPoller's grants: all arguments of `sudo` under
// `Bash(sudo:*)`, contents of a named directory, reading of editable files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// Returns false only if no call can be covered by `told`, in any client's reading, and by `restriction`. `home`: the
/// home directory; empty if unknown.
bool may_overlap(const PermissionRule& told, const PermissionRule& restriction, std::string_view home);

/// Returns the first deny or ask rule that shares calls with this one, as "the deny rule Bash(git push:*)"; empty:
/// none.
std::optional<std::string> restriction_of(const PermissionRule& told, const PermissionRules&, std::string_view home);

}  // namespace inbox_poller::config
