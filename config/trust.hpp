// Who else could change a file: its owner and mode, and those of every folder on the way to it. As StrictModes of
// OpenSSH: what tells us what is allowed is worth nothing when others can rewrite it.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace inbox_poller::config {

/// True for root, and for an owner whom this user namespace does not know where it does not know root either (systemd's
/// PrivateUsers= in a user's service): which of the two it is cannot be seen from inside.
bool may_be_root(uid_t owner);

/// Why a file or folder is not trusted, with the command that mends it; nothing when only we and root can change it.
/// A sticky folder may be open to others: what is ours in it they can neither rename nor remove. Of a link only the
/// owner counts.
std::optional<std::string> distrust(const std::string& path, const struct stat& status);

/// The same for every folder above a path, as it is written and once links are followed: who may write to one of them
/// can put something else in the place of all that is below. The path itself need not exist.
std::optional<std::string> distrust_above(const std::string& path);

}  // namespace inbox_poller::config
