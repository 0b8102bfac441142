// The other users who could change a file: the owner and mode of the file and of every directory above. Like
// StrictModes of OpenSSH: a configuration that others can rewrite is worthless.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::config {

/// Returns true for root. Also true for an unmapped owner in a user namespace that does not map root, where the two
/// look the same (systemd's PrivateUsers= in a user's service).
bool may_be_root(uid_t owner);

/// The kind of a file or directory, which decides who else may own or write it.
enum class Trust {
  ours,        // decides for this user: belongs to this user only
  to_us,       // read or written: owned by this user or root, and not writable by others
  on_the_way,  // a directory above, or a program: also may_be_root(); a sticky directory may be writable by others, who
               // cannot rename or remove this user's files there
};

/// The reason why others could change a file or directory.
struct Distrust {
  bool owner = false;  // owned by another user; otherwise others may write it
  std::string why;
  std::string mend;  // the command that fixes it
  /// Returns "/x: others may write it (mode 0666); close it: chmod go-w /x".
  [[nodiscard]] std::string told(std::string_view path) const;
};

/// Returns the reason; nothing if only the allowed users may change the file. `mode`: with the type bits, because for a
/// link only the owner counts. `self`: this user.
std::optional<Distrust> distrust(std::string_view path, uid_t owner, mode_t mode, Trust, uid_t self);

/// Returns the reason for a directory above a path, as written or after following links: a user who may write to one of
/// them can replace all below. The path itself need not exist.
std::optional<std::string> distrust_above(const std::string& path);

}  // namespace inbox_poller::config
