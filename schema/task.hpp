// A task file of a team's task list: who owns it and how far it is, and the one change we make: giving it back.
// Source: docs/reference/wire.md W5. Unknown fields stay in the file's bytes.
#pragma once

#include <string>
#include <string_view>

#include "schema/error.hpp"

namespace inbox_poller::schema {

struct Task {
  std::string id, subject, status;  // status: pending | in_progress | completed | deleted, or something newer
  std::string owner;                // bare name or agent id; empty: nobody
  std::string description;
  bool internal = false;            // metadata._internal: a tracker that the client keeps for itself

  /// True while somebody still has to do it.
  [[nodiscard]] bool is_unfinished() const;
  /// True when it belongs to the member of this name and agent id.
  [[nodiscard]] bool is_owned_by(std::string_view name, std::string_view agent_id) const;
};

/// Errors ("task.…") name the field, what was found, what was expected.
Result<Task> decode_task(std::string_view bytes);

/// The file with this owner and the status "pending", every other byte unchanged.
Result<std::string> assigned(std::string_view bytes, std::string_view owner);

/// The file without `owner` and with the status "pending"; every other byte unchanged.
Result<std::string> released(std::string_view bytes);

}  // namespace inbox_poller::schema
