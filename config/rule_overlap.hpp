// What two permission rules have in common. A rule that workers take over ends their asking, and with it every deny and
// ask rule of ours for the same calls: so only a rule that shares no call with any of those is told (docs/adr/0028).
// Invariant: *disjoint* is shown, never assumed; what cannot be shown overlaps. Works on the rules alone: no call, no
// worker's folder. Clients read a rule more widely than we grant it (all arguments of `sudo` under `Bash(sudo:*)`, a
// folder below a path that names it, reading what may be edited), and that reading counts here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// False only when no call can be covered by `told`, as anybody reads it, and be met by `restriction`. `home` is the
/// home folder, empty when it is not known.
bool may_overlap(const PermissionRule& told, const PermissionRule& restriction, std::string_view home);

/// The first deny or ask rule that shares calls with this one, as "the deny rule Bash(git push:*)"; empty: none does.
std::optional<std::string> restriction_of(const PermissionRule& told, const PermissionRules&, std::string_view home);

}  // namespace inbox_poller::config
