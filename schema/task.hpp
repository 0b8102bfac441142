// A task file of a team's task list: its owner and status, and the changes that InboxPoller makes to both. Unknown
// fields stay in the file's bytes. Source: docs/reference/wire.md W5.
#pragma once

#include <string>
#include <string_view>

#include "schema/error.hpp"

namespace inbox_poller::schema {

struct Task {
  std::string id, subject, status;  // status: pending | in_progress | completed | deleted, or a newer one
  std::string owner;                // bare name or agent id; empty: none
  std::string description;
  bool internal = false;            // metadata._internal: the client's own tracker

  /// Returns true while the task is open.
  [[nodiscard]] bool is_unfinished() const;
  /// Returns true if the task belongs to the member of this name and agent id.
  [[nodiscard]] bool is_owned_by(std::string_view name, std::string_view agent_id) const;
};

/// Reads the file. Errors ("task.…") name the field, the value found and the value expected.
Result<Task> decode_task(std::string_view bytes);

/// Returns the file with this owner and the status "pending", and every other byte unchanged.
Result<std::string> assigned(std::string_view bytes, std::string_view owner);

/// Returns the file without `owner` and with the status "pending", and every other byte unchanged.
Result<std::string> released(std::string_view bytes);

}  // namespace inbox_poller::schema
