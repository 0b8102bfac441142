// The text of a Redis ACL file with one user per host. A host's user may append to the streams that its name ends,
// read the streams addressed to it, and send its heartbeat. Hosts that may lead have all keys of the team, and of no
// other team. The stream's name therefore proves the sender of a frame. A hostile host that may not lead cannot speak
// as another host, decide a request, or change the leader. Its only attack is to fill the memory of Redis.
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

/// One host for access_list().
struct HostAccess {
  std::string host;
  bool may_lead = false;
  std::string password_sha256;  // 64 hexadecimal digits
};

/// Name of the Redis user of this host, "host-" and the host's name.
std::string user_of_host(const std::string& host);

/// Builds the ACL file, one line per user, in the syntax of Redis 7. The user `default` is disabled; `admin` may do
/// everything. Errors: "name.invalid" for the team, for a host, or for a host that is listed twice.
Result<std::string> access_list(const std::string& team, const std::vector<HostAccess>&, const std::string& admin_sha256);

}  // namespace inbox_poller::poller
