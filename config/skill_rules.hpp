// Rules for skills and slash commands: `Skill(name)`, `Skill(name *)`, `SlashCommand(/name:*)`. Both tools start the
// same thing, so a restriction of one meets the other; a grant holds for its own tool. Source: the client's public
// documentation of skills.
#pragma once

#include <string>
#include <string_view>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// What a call starts, in one spelling: the name without a leading '/', then a blank and the arguments if there are
/// any.
std::string skill_invocation(std::string_view name, std::string_view arguments);

/// `name` is the skill without arguments; `name *` and `name:*` are the skill with any. `name:*` also grants the skills
/// of a plugin of that name. A restriction meets `name` with any arguments, and every name that begins like the
/// pattern.
bool skill_matches(std::string_view pattern, std::string_view invocation, Side);

}  // namespace inbox_poller::config
