// Who may do what in the engine: the text of an ACL file with one user a host. A host appends to the streams that are
// named as written by it, reads those that are written to it, and tells of itself; hosts that may lead have the team's
// keys, and no other's. So who wrote a letter is proven by where it stands, and a host in foreign hands can neither speak
// as another, nor decide an ask, nor change who leads. What it can do is fill the engine's memory. Pure.
#pragma once

#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

struct HostAccess {
  std::string host;
  bool may_lead = false;
  std::string password_sha256;  // 64 hexadecimal digits
};

/// What a host's user is called.
std::string user_of_host(const std::string& host);

/// One line a user, as Redis 7 reads it; `default` is switched off, and `admin` has everything. "name.invalid".
Result<std::string> access_list(const std::string& team, const std::vector<HostAccess>&, const std::string& admin_sha256);

}  // namespace inbox_poller::poller
