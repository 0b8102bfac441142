#include "poller/ledger/ledger_place.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace inbox_poller::poller {
namespace {

constexpr std::size_t ledger = 0;
constexpr std::size_t log = 1;

Error gone(const std::string& path, const std::string& what) {
  return {"ledger.gone",
          path + ": " + what + " while the daemon used it; nothing is accepted, marked read or answered " + "any more"};
}

/// Explains a failed lstat(): the file is gone, or its folder or disk is the problem.
Error not_examined(const std::string& path, int problem) {
  if (problem == ENOENT || problem == ENOTDIR) return gone(path, "was removed or moved away");
  return {"ledger.io", path + ": cannot be examined: " + std::generic_category().message(problem) +
                           "; check its folder and its disk"};
}

}  // namespace

Result<LedgerPlace> LedgerPlace::remember(const std::string& path) {
  LedgerPlace place;
  for (const char* part : {"", "-wal", "-shm", ".lock"}) {
    const std::string name = path + part;
    struct stat now {};
    if (::lstat(name.c_str(), &now) != 0) return not_examined(name, errno);
    place.parts_.push_back({name, now.st_dev, now.st_ino, 0});
  }
  return place;
}

Status LedgerPlace::examine(Part& part) {
  struct stat now {};
  if (::lstat(part.path.c_str(), &now) != 0) return not_examined(part.path, errno);
  if (now.st_dev != part.device || now.st_ino != part.inode) return gone(part.path, "was replaced by another file");
  if (now.st_size < part.least_bytes) {
    is_cut_ = true;
    return gone(part.path, "was cut to " + std::to_string(now.st_size) + " bytes");
  }
  if (&part == &parts_[ledger]) part.least_bytes = now.st_size;
  return Done{};
}

Status LedgerPlace::examine(off_t log_bytes) {
  if (parts_.empty()) return Done{};
  if (has_hole_) return gone(parts_[log].path, "was cut during a commit");
  parts_[log].least_bytes = log_bytes;
  for (Part& part : parts_)
    TRY(examine(part));
  return Done{};
}

bool LedgerPlace::has_main_file() { return !parts_.empty() && examine(parts_[ledger]).ok(); }

bool LedgerPlace::has_bytes(off_t ledger_bytes, off_t log_bytes) const {
  struct stat main {}, beside {};
  return !parts_.empty() && !has_hole_ && ::lstat(parts_[ledger].path.c_str(), &main) == 0 &&
         main.st_size >= ledger_bytes && ::lstat(parts_[log].path.c_str(), &beside) == 0 && beside.st_size >= log_bytes;
}

void LedgerPlace::forget_sizes() {
  is_cut_ = false;
  for (Part& part : parts_) part.least_bytes = 0;
}

bool LedgerPlace::has_another_log() const {
  struct stat now {};
  if (parts_.empty() || ::lstat(parts_[log].path.c_str(), &now) != 0) return false;
  return now.st_dev != parts_[log].device || now.st_ino != parts_[log].inode;
}

}  // namespace inbox_poller::poller
