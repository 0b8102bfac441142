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

/// Returns true if the first line of the map shows who number 0 is. Without a map there are no user namespaces.
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

std::string Distrust::told(std::string_view path) const { return std::string(path) + ": " + why + ": " + mend; }

std::optional<Distrust> distrust(std::string_view path, uid_t owner, mode_t mode, Trust trust, uid_t self) {
  const bool link = S_ISLNK(mode);
  const bool way = trust == Trust::on_the_way;
  if (owner != self && (trust == Trust::ours || (way ? !may_be_root(owner) : owner != 0)))
    return Distrust{true,
                    "belongs to user " + std::to_string(owner) + "; it must belong to you" +
                        (trust == Trust::ours ? "" : " or root"),
                    "chown " + std::string(link ? "-h " : "") + std::to_string(self) + " " + schema::shell_word(path)};
  if (link || (mode & (S_IWGRP | S_IWOTH)) == 0 || (way && S_ISDIR(mode) && (mode & S_ISVTX) != 0)) return std::nullopt;
  char octal[8];
  std::snprintf(octal, sizeof octal, "%04o", static_cast<unsigned>(mode & 07777U));
  return Distrust{false, std::string("others may write it (mode ") + octal + "); close it",
                  "chmod go-w " + schema::shell_word(path)};
}

std::optional<std::string> distrust_above(const std::string& path) {
  for (const bool resolved : {false, true}) {  // as written, and with all links resolved
    std::error_code failure;
    const auto way =
        resolved ? std::filesystem::weakly_canonical(path, failure) : std::filesystem::absolute(path, failure);
    if (failure) return path + ": cannot be examined: " + failure.message();
    for (auto folder = way.parent_path();; folder = folder.parent_path()) {
      struct stat status {};
      if (lstat(folder.c_str(), &status) != 0) return folder.string() + ": cannot be examined: " + std::strerror(errno);
      if (const auto reason = distrust(folder.native(), status.st_uid, status.st_mode, Trust::on_the_way, geteuid()))
        return reason->told(folder.native());
      if (!folder.has_relative_path()) break;
    }
  }
  return std::nullopt;
}

}  // namespace inbox_poller::config
