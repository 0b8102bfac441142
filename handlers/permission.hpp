// A worker asks to run a tool. Judged on the tool's name and input, which is what will be carried out; its description
// and its permission_suggestions are shown to people and never used. Source: protocol.md 3.2, 3.3 and A.2.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// The ask without asker and times. Its hash covers tool and input, not tool_use_id: a retry is the same ask.
Request draft_of(const schema::PermissionRequest&);

config::Verdict judge(const schema::PermissionRequest&, std::string_view asker, const TeamView&, const RequestView&);

/// The payload of the answer; `input` is what an approval lets run.
std::string permission_answer(const Request& decided, std::string_view input);

/// True for bytes that every client reads back as the JSON object that they are. Anything else would make it ignore the
/// answer and wait for ever.
bool is_sendable_input(std::string_view input);

}  // namespace inbox_poller::handlers
