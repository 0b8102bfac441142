// Who else could change a file: its owner and mode, and those of every folder on the way to it. As StrictModes of
// OpenSSH: what tells us what is allowed is worth nothing when others can rewrite it.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::config {

/// True for root, and for an owner whom this user namespace does not know where it does not know root either (systemd's
/// PrivateUsers= in a user's service): which of the two it is cannot be seen from inside.
bool may_be_root(uid_t owner);

/// What a file or folder is to us, which says who else may own it or write to it.
enum class Trust {
  ours,        // what decides for us: it is nobody else's
  to_us,       // what we read, or write into: ours or root's, and nobody else puts anything there
  on_the_way,  // a folder above it, a program: the same, but may_be_root(), and a sticky folder may be open to others:
               // what is ours in it they can neither rename nor remove
};

/// What is wrong with a file or folder that others could change.
struct Distrust {
  bool owner = false;  // belongs to somebody else; otherwise others may write it
  std::string why;
  std::string mend;  // the command
  /// "/x: others may write it (mode 0666); close it: chmod go-w /x"
  [[nodiscard]] std::string told(std::string_view path) const;
};

/// Nothing when nobody but those may change it. `mode` with the bits that say what it is: of a link only the owner
/// counts. `self`: who we are.
std::optional<Distrust> distrust(std::string_view path, uid_t owner, mode_t mode, Trust, uid_t self);

/// What is wrong with a folder above a path, as it is written or once links are followed: who may write to one of them
/// can put something else in the place of all that is below. The path itself need not exist.
std::optional<std::string> distrust_above(const std::string& path);

}  // namespace inbox_poller::config
