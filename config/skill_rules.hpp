// Rules for skills and slash commands: `Skill(name)`, `Skill(name *)`, `SlashCommand(/name:*)`. Both tools start the
// same skills, so a restriction of one covers the other; a grant holds for its own tool. Source: the client's public
// documentation of skills.
#pragma once

#include <string>
#include <string_view>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// Returns the started skill in one spelling: the name without a leading '/', then a blank and the arguments, if any.
std::string skill_invocation(std::string_view name, std::string_view arguments);

/// Returns true if the pattern matches. `name` is the skill without arguments; `name *` and `name:*` allow any.
/// `name:*` also grants the skills of a plugin of that name. A restriction covers `name` with any arguments, and every
/// name with the pattern's beginning.
bool skill_matches(std::string_view pattern, std::string_view invocation, Side);

}  // namespace inbox_poller::config
