// The texts next to the inboxes of a JSONL team: the roster and the tasks. Pure; accesses no files.
// Source: docs/adr/0032-jsonl-lines.md.
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

/// Parses `config.json`. A member whose name is not safe as a part of a file name is unreachable.
/// Errors: "roster.syntax", "roster.field".
Result<schema::Roster> decode_jsonl_roster(std::string_view bytes);
/// Builds the roster of a team that has no `config.json`.
schema::Roster jsonl_roster_of(std::string_view team, const std::vector<std::string>& members);

/// Returns true for the name of a task file: "task_7.json", "task_1a2b3c4d.json".
bool is_jsonl_task(std::string_view file);
/// Returns true for a task file name of the fourth generation (8 hex digits).
bool is_hex_task(std::string_view file);
/// Parses a task file; the id may be a number and the owner null. Errors: "task.syntax", "task.field".
Result<schema::Task> decode_jsonl_task(std::string_view bytes);
/// Returns the file with `owner` null and the status "pending"; all other bytes stay.
/// Errors: "object.syntax".
Result<std::string> released_jsonl(std::string_view bytes);
/// Returns the file with this owner and the status "pending"; all other bytes stay. Errors: "object.syntax".
Result<std::string> assigned_jsonl(std::string_view bytes, std::string_view owner);

/// Returns the object with these members set to these JSON tokens; all other bytes stay. An existing member keeps its
/// place, a new one is appended. Errors: "object.syntax".
Result<std::string> with_members(std::string_view object,
                                 const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace inbox_poller::poller
