// What stands beside the inboxes of a JSONL team, as texts: its roster, its tasks, and the records of requests that the
// second generation keeps. Pure. Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/error.hpp"
#include "schema/roster.hpp"
#include "schema/task.hpp"

namespace inbox_poller::poller {

inline constexpr std::string_view jsonl_lead = "lead";

/// Reads `config.json`. Who has a name that we would not write into a file's name is unserved. Errors ("roster.…").
Result<schema::Roster> decode_jsonl_roster(std::string_view bytes);
/// The roster of a team that keeps none.
schema::Roster jsonl_roster_of(std::string_view team, const std::vector<std::string>& members);

/// "task_7.json", "task_1a2b3c4d.json"
bool is_jsonl_task(std::string_view file);
/// The fourth generation's names.
bool is_hex_task(std::string_view file);
/// Ids may be numbers, the owner null. Errors ("task.…").
Result<schema::Task> decode_jsonl_task(std::string_view bytes);
/// The file with `owner` null and the status "pending"; every other byte unchanged.
Result<std::string> released_jsonl(std::string_view bytes);
/// The same with this owner.
Result<std::string> assigned_jsonl(std::string_view bytes, std::string_view owner);

/// The object with these members set to these tokens, in their places where they are there and behind the others where
/// not; everything else as it is written.
Result<std::string> with_members(std::string_view object,
                                 const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace inbox_poller::poller
