// The text of a Redis ACL file with one user per node. A node's user may append to the streams that its name ends,
// read the streams addressed to it, and send its heartbeat. Nodes that may lead have all keys of the team, and of no
// other team. The stream's name therefore proves the sender of a frame. A hostile node that may not lead cannot speak
// as another node, decide a request, or change the leader. Its only attack is to fill the memory of Redis.
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

/// One node for access_list().
struct NodeAccess {
  std::string node;
  bool may_lead = false;
  std::string password_sha256;  // 64 hexadecimal digits
};

/// Name of the Redis user of this node, "node-" and the node's name.
std::string user_of_node(const std::string& node);

/// Builds the ACL file, one line per user, in the syntax of Redis 7. The user `default` is disabled; `admin` may do
/// everything. Errors: "name.invalid" for the team, for a node, or for a node that is listed twice.
Result<std::string> access_list(const std::string& team, const std::vector<NodeAccess>&, const std::string& admin_sha256);

}  // namespace inbox_poller::poller
