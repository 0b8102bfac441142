#include "poller/ledger/ledger_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "config/trust.hpp"
#include "schema/ids.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller {
namespace {

/// SQLite treats a file shorter than its smallest page as a database that is not made yet.
constexpr off_t smallest_database = 512;

Error system_fault(const std::string& path, std::string_view doing, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  return {full ? "ledger.full" : "ledger.io",
          path + ": " + std::string(doing) + ": " + std::generic_category().message(number)};
}

bool there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

/// A writer of any part of a ledger could decide for the daemon. A second name is rejected, because SQLite keeps a log
/// for each name and would read the file without the other log.
Status require_ours(const std::string& path, const struct stat& status) {
  const std::string word = schema::shell_word(path);
  const auto unsafe = [&](const std::string& why) { return Error{"ledger.unsafe", path + ": " + why}; };
  if (S_ISLNK(status.st_mode)) return unsafe("is a symbolic link; put the file itself there, or name its folder");
  if (!S_ISREG(status.st_mode)) return unsafe("is not a plain file; move it away");
  if (const auto wrong = config::distrust(path, status.st_uid, status.st_mode, config::Trust::ours, ::geteuid()))
    return unsafe(wrong->owner ? wrong->why + ": " + wrong->mend
                               : "others may write to it; check its contents, then: chmod 600 " + word);
  if (status.st_nlink > 1) {
    const std::string copy = schema::shell_word(path + ".copy");
    return unsafe("has a second name (a hard link); make it a file of its own: cp -p " + word + " " + copy + " && mv " +
                  copy + " " + word);
  }
  return Done{};
}

std::string owner_of_lock(int fd) {
  std::array<char, 24> text{};
  static_cast<void>(::pread(fd, text.data(), text.size() - 1, 0));  // an unread rest stays zero
  const std::string pid(text.begin(), std::ranges::find_if_not(text, [](char c) { return c >= '0' && c <= '9'; }));
  return pid.empty() ? "" : " (process " + pid + ")";
}

Status sync_directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_fault(directory, "cannot open the directory", errno);
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return failed == 0 ? Status(Done{}) : Status(system_fault(directory, "cannot make the directory durable", failed));
}

// `2026-02-07T15:20:46.348Z` as `20260207T152046348Z`, for file names.
std::string compact_time(EpochMs now_ms) {
  std::string text = schema::iso_timestamp(now_ms);
  std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == '.'; });
  return text;
}

}  // namespace

LedgerLock::~LedgerLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<LedgerLock> LedgerLock::take(const std::string& ledger_path) {
  const std::string path = ledger_path + ".lock";
  LedgerLock lock;
  lock.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (lock.fd_ < 0) return system_fault(path, "cannot open the lock file", errno);
  struct stat status {};
  if (::fstat(lock.fd_, &status) != 0) return system_fault(path, "cannot examine the lock file", errno);
  TRY(require_ours(path, status));
  // A child that a killed daemon was just starting holds the lock until it has become its program.
  for (int tries = 0; ::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return system_fault(path, "cannot lock", errno);
    if (tries == 100)
      return Error{"ledger.in_use",
                   ledger_path + ": another inbox-poller" + owner_of_lock(lock.fd_) +
                       " has this ledger. Stop it, or give this one its own `state_dir` (--daemon-config)"};
    ::poll(nullptr, 0, 10);  // at the start no loop runs yet
  }
  struct stat named {};
  if (::lstat(path.c_str(), &named) != 0 || named.st_dev != status.st_dev || named.st_ino != status.st_ino)
    return Error{"ledger.io", path + ": was replaced while it was locked; start again"};
  const std::string pid = std::to_string(::getpid()) + "\n";
  // The number only helps a person. A full disk must not prevent the lock, because the ledger reports that disk itself.
  if (::ftruncate(lock.fd_, 0) == 0) static_cast<void>(::pwrite(lock.fd_, pid.data(), pid.size(), 0) == 0);
  return lock;
}

Result<std::string> resolved_path(const std::string& path) {
  const std::filesystem::path given(path);
  std::error_code failed;
  const auto directory = std::filesystem::canonical(given.has_parent_path() ? given.parent_path() : ".", failed);
  if (failed) return Error{"ledger.io", path + ": its directory cannot be found: " + failed.message()};
  if (!given.has_filename()) return Error{"ledger.io", path + ": is a directory; name a file in it"};
  return (directory / given.filename()).string();
}

Result<bool> ledger_exists(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return system_fault(path, "cannot examine the ledger", errno);
    // SQLite would replay a remaining log into the next file with this name.
    if (!there(path + "-wal")) return false;
    return Error{"ledger.damaged",
                 path + " is missing but " + path +
                     "-wal is there. Put the ledger back, or start with an empty one: `inbox-poller run --new-ledger` "
                     "sets the remainder aside and begins an empty one"};
  }
  for (const char* part : {"", "-wal", "-shm", "-journal"}) {
    struct stat found {};
    if (::lstat((path + part).c_str(), &found) != 0) continue;
    TRY(require_ours(path + part, found));
  }
  if (status.st_size < smallest_database) {
    return Error{"ledger.damaged",
                 path +
                     " is empty or cut off. Restore it from a copy, or start with an empty one: "
                     "`inbox-poller run --new-ledger` sets it aside and begins an empty one"};
  }
  return true;
}

std::string saved_ledger(const std::string& path) { return path + ".saved"; }

Result<bool> saved_ledger_waits(const std::string& path) {
  const std::string saved = saved_ledger(path);
  struct stat found {};
  if (::lstat(saved.c_str(), &found) != 0) {
    if (errno == ENOENT) return false;
    return system_fault(saved, "cannot examine the saved ledger", errno);
  }
  TRY(require_ours(saved, found));
  for (const char* part : {"", "-wal", "-journal"}) {
    if (!there(path + part)) continue;
    return Error{
        "ledger.saved",
        path + part + " is there, and " + saved +
            " as well: that is what the daemon held when its ledger was "
            "taken away. To go on with the saved one, move " +
            path +
            " away, with its -wal and -shm, and start; to go "
            "on with what is there, move the saved one away; to begin an empty one: `inbox-poller run --new-ledger`"};
  }
  return true;
}

Status create_private_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_fault(path, "cannot remove the left-over", errno);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return system_fault(path, "cannot create the ledger", errno);
  const int failed = ::fchmod(fd, 0600) == 0 ? 0 : errno;
  ::close(fd);
  if (failed != 0) return system_fault(path, "cannot make the ledger private", failed);
  return Done{};
}

Status sync_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  const int failed = fd >= 0 && ::fsync(fd) == 0 ? 0 : errno;
  if (fd >= 0) ::close(fd);
  return failed == 0 ? Status(Done{}) : system_fault(path, "cannot be made durable", failed);
}

Status rename_durably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return system_fault(from, "cannot rename to " + to, errno);
  return sync_directory_of(to);
}

Result<std::string> rename_ledger(const std::string& path, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; there(name) || there(name + "-wal") || there(name + ".saved"); ++i)
    name = wanted + "-" + std::to_string(i);
  bool moved = false;
  // The ledger goes first: a rest without it is found as damage again, but a ledger without its log seems sound.
  for (const char* part : {"", "-wal", "-shm", "-journal", ".saved"}) {
    if (!there(path + part)) continue;
    TRY(rename_durably(path + part, name + part));
    moved = true;
  }
  return moved ? name : std::string();
}

Result<std::string> set_ledger_aside(const std::string& given, EpochMs now_ms) {
  TRY(auto path, resolved_path(given));
  TRY(const auto lock, LedgerLock::take(path));
  return rename_ledger(path, path + ".damaged-" + compact_time(now_ms));
}

}  // namespace inbox_poller::poller
