#include "config/trust.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "schema/printable.hpp"

namespace inbox_poller::config {
namespace {

/// The first line of the map says who number 0 is; without a map there are no user namespaces.
bool root_is_known() {
  std::ifstream map("/proc/self/uid_map");
  unsigned long inside = 0;
  return !(map >> inside) || inside == 0;
}

uid_t overflow_uid() {
  std::ifstream file("/proc/sys/kernel/overflowuid");
  uid_t uid = 0;
  return file >> uid ? uid : 65534;
}

}  // namespace

bool may_be_root(uid_t owner) {
  static const uid_t unknown = root_is_known() ? 0 : overflow_uid();
  return owner == 0 || owner == unknown;
}

std::optional<std::string> distrust(const std::string& path, const struct stat& status) {
  const bool folder = S_ISDIR(status.st_mode);
  if (status.st_uid != geteuid() && !(folder ? may_be_root(status.st_uid) : status.st_uid == 0)) {
    return path + ": belongs to user " + std::to_string(status.st_uid) + "; it must belong to you or root: chown " +
           (S_ISLNK(status.st_mode) ? "-h " : "") + std::to_string(geteuid()) + " " + schema::shell_word(path);
  }
  const bool closed_enough = S_ISLNK(status.st_mode) || (folder && (status.st_mode & S_ISVTX) != 0);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !closed_enough) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(status.st_mode & 07777U));
    return path + ": others may write it (mode " + mode + "); close it: chmod go-w " + schema::shell_word(path);
  }
  return std::nullopt;
}

std::optional<std::string> distrust_above(const std::string& path) {
  for (const bool resolved : {false, true}) {  // as it is written, and behind all links
    std::error_code failure;
    const auto way =
        resolved ? std::filesystem::weakly_canonical(path, failure) : std::filesystem::absolute(path, failure);
    if (failure) return path + ": cannot be examined: " + failure.message();
    for (auto folder = way.parent_path();; folder = folder.parent_path()) {
      struct stat status {};
      if (lstat(folder.c_str(), &status) != 0) return folder.string() + ": cannot be examined: " + std::strerror(errno);
      if (auto reason = distrust(folder.string(), status)) return reason;
      if (!folder.has_relative_path()) break;
    }
  }
  return std::nullopt;
}

}  // namespace inbox_poller::config
