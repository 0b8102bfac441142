// The lead's own permission prompts, judged by the same rules as workers' requests ([lead] permissions). Sources:
// docs/reference/wire.md W25 (hook PermissionRequest), W26 (can_use_tool).
#pragma once

#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// Follows the name of a tool if only the beginning of its call is known. The result names no tool, so no rule judges
/// it.
inline constexpr std::string_view preview_mark = " (a preview)";

/// Judges a tool call of the lead's session by the rules. `input`: the tool's input as a JSON text. `cwd`: the
/// session's directory, from which relative paths in rules start. Asks if [lead] permissions is off.
config::Verdict judge_lead(std::string_view tool, std::string_view input, std::string_view cwd, const TeamView&);

}  // namespace inbox_poller::handlers
