// The lead's own permission prompts, judged by the same rules as the workers' asks ([lead] permissions). Sources:
// docs/reference/wire.md W25 (hook PermissionRequest), W26 (can_use_tool).
#pragma once

#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// Behind the name of a tool of whose call only the beginning is known: it is the name of no tool, and no rule judges it.
inline constexpr std::string_view preview_mark = " (a preview)";

/// What the rules say about a tool call of the lead's session. `input` is the tool's input as a JSON text; `cwd` the
/// session's folder, from which relative path rules start. With [lead] permissions off: ask.
config::Verdict judge_lead(std::string_view tool, std::string_view input, std::string_view cwd, const TeamView&);

}  // namespace inbox_poller::handlers
