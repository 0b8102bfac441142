// The port to files: every system call this program makes on a file or folder, each one failable by a test.
// What it is not: a path library. Calls are relative to an open folder, never follow a link in the last component,
// never block on a FIFO, and leave retrying to the caller (a failed sync is never retried: the pages may be gone).
// Every fault has the code "io.<ERRNO>" and a message that names the path; the few that are ours are listed at `code`
// below. Source: docs/dev/architecture.md, "Errors"; POSIX.1-2017.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/trust.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

/// Codes of faults that are not an errno.
namespace code {
inline constexpr std::string_view not_regular = "file.not_regular";  // a FIFO, folder, link, socket or device
inline constexpr std::string_view untrusted = "dir.untrusted";       // a link, or others may write to it
}  // namespace code

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int value) : value_(value) {}
  Fd(Fd&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Fd();

  [[nodiscard]] int get() const { return value_; }

 private:
  int value_ = -1;
};

enum class FileKind { regular, directory, symlink, other };

struct FileStat {
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  FileKind kind = FileKind::other;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  // since the Unix epoch; any owner can set it
  std::int64_t ctime_ns = 0;  // since the Unix epoch; only the kernel sets it
  unsigned mode = 0;          // permission bits
  unsigned uid = 0;
  std::uint64_t links = 0;
};

struct Directory {
  Fd fd;
  FileStat stat;     // as it was opened
  std::string path;  // for messages
};

struct File {
  Fd fd;
  FileStat stat;     // as it was opened; always regular
  std::string path;  // for messages
};

/// What a file's lease keeps out, in an exact way: whoever opens the file waits until it is released.
enum class Lease {
  none,
  read,   // granted while nobody has it open for writing; for a file from open_read()
  write,  // granted while nobody else has it open at all; for a file from open_update()
};

/// The folder to give when the name is an absolute path.
inline const Directory absolute{};

/// What moves onto a name that is taken.
enum class Onto { nothing, anything };

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Opens a folder; a link in its place is `dir.untrusted`.
  virtual Result<Directory> open_dir(const Directory& at, const std::string& name) = 0;
  /// Opens a regular file; anything else is `file.not_regular`. A FIFO is not waited for.
  virtual Result<File> open_read(const Directory& at, const std::string& name) = 0;
  /// The same, for reading and overwriting.
  virtual Result<File> open_update(const Directory& at, const std::string& name) = 0;
  /// Opens a regular file for append(), creating it with mode 0600.
  virtual Result<File> open_append(const Directory& at, const std::string& name) = 0;
  /// Creates a file with exactly these permission bits, whatever the umask says. "io.EEXIST" when anything has that
  /// name.
  virtual Result<File> create_exclusive(const Directory& at, const std::string& name, unsigned mode) = 0;

  /// About the name itself: links are not followed.
  virtual Result<FileStat> stat_at(const Directory& at, const std::string& name) = 0;
  /// About the open file, as it is now.
  virtual Result<FileStat> stat(const File& file) = 0;

  /// Reads until the buffer is full or the file ends; returns how much it was.
  virtual Result<std::size_t> read_at(const File& file, char* buffer, std::size_t size, std::uint64_t offset) = 0;
  /// Writes everything or fails; after a failure a part may have been written.
  virtual Status write_at(const File& file, std::string_view bytes, std::uint64_t offset) = 0;
  /// The same at the end of a file from open_append().
  virtual Status append(const File& file, std::string_view bytes) = 0;
  /// Cuts the file, or makes it longer by zeros.
  virtual Status truncate(const File& file, std::uint64_t size) = 0;
  /// Takes or releases the kernel's lease on a file. False: somebody else has it open; come back, nothing waits.
  /// "io.EINVAL", "io.EACCES" and others where there is none to be had: another system, a network's file system, a file
  /// of another user. To be held for less than a millisecond. SIGIO, by which the kernel says that somebody waits, is
  /// ignored from the first call on. Source: fcntl(2), F_SETLEASE.
  virtual Result<bool> set_lease(const File& file, Lease lease) = 0;
  /// Does somebody wait for the lease that we hold?
  virtual bool lease_is_wanted(const File& file) = 0;
  /// To the disk, not only to the drive's cache.
  virtual Status sync(const File& file) = 0;
  virtual Status sync_dir(const Directory& directory) = 0;

  virtual Status rename_at(const Directory& at, const std::string& from, const std::string& to) = 0;
  /// Each name stands for what the other one stood for, in one step. "io.EINVAL" or "io.ENOSYS" where that is not
  /// known.
  virtual Status exchange_at(const Directory& at, const std::string& one, const std::string& other) = 0;
  /// From one folder to another. What has that name already stays: "io.EEXIST", or is replaced.
  virtual Status move(const Directory& from, const std::string& name, const Directory& to, const std::string& as,
                      Onto onto) = 0;
  /// exchange_at() over two folders.
  virtual Status swap(const Directory& at, const std::string& one, const Directory& there, const std::string& other) = 0;
  virtual Status unlink_at(const Directory& at, const std::string& name) = 0;
  virtual Status mkdir_at(const Directory& at, const std::string& name, unsigned mode) = 0;
  virtual Status rmdir_at(const Directory& at, const std::string& name) = 0;
  /// All names in the folder except "." and "..", in no order.
  virtual Result<std::vector<std::string>> list(const Directory& directory) = 0;
  /// Nobody else has this file or folder until it is closed, by the death of the process too: flock(2), which only those
  /// respect who ask for it. Does not wait: "io.EAGAIN" while somebody has it.
  virtual Status lock(const Fd& open, const std::string& path) = 0;
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<Directory> open_dir(const Directory& at, const std::string& name) override;
  Result<File> open_read(const Directory& at, const std::string& name) override;
  Result<File> open_update(const Directory& at, const std::string& name) override;
  Result<File> open_append(const Directory& at, const std::string& name) override;
  Result<File> create_exclusive(const Directory& at, const std::string& name, unsigned mode) override;
  Result<FileStat> stat_at(const Directory& at, const std::string& name) override;
  Result<FileStat> stat(const File& file) override;
  Result<std::size_t> read_at(const File& file, char* buffer, std::size_t size, std::uint64_t offset) override;
  Status write_at(const File& file, std::string_view bytes, std::uint64_t offset) override;
  Status append(const File& file, std::string_view bytes) override;
  Status truncate(const File& file, std::uint64_t size) override;
  Result<bool> set_lease(const File& file, Lease lease) override;
  bool lease_is_wanted(const File& file) override;
  Status sync(const File& file) override;
  Status sync_dir(const Directory& directory) override;
  Status rename_at(const Directory& at, const std::string& from, const std::string& to) override;
  Status exchange_at(const Directory& at, const std::string& one, const std::string& other) override;
  Status move(const Directory& from, const std::string& name, const Directory& to, const std::string& as,
              Onto onto) override;
  Status swap(const Directory& at, const std::string& one, const Directory& there, const std::string& other) override;
  Status unlink_at(const Directory& at, const std::string& name) override;
  Status mkdir_at(const Directory& at, const std::string& name, unsigned mode) override;
  Status rmdir_at(const Directory& at, const std::string& name) override;
  Result<std::vector<std::string>> list(const Directory& directory) override;
  Status lock(const Fd& open, const std::string& path) override;
};

/// The fault for an errno value: code "io.ENOENT", message "<action> <path>: <strerror>".
Error io_error(int errno_value, std::string_view action, std::string_view path);
/// True for the fault that io_error() makes of this value.
bool is_errno(const Error& error, int errno_value);

/// "a FIFO, socket or device" and the like, for messages.
std::string_view describe(FileKind kind);

/// Everything that is in the file now; reads at most as many bytes as it had when it was opened.
Result<std::string> read_all(FileSystem& files, const File& file);

/// A new file with these bytes, on the disk when this returns (the folder's entry only after sync_dir()). Removed again
/// when anything fails.
Status create_durable(FileSystem& files, const Directory& at, const std::string& name, std::string_view bytes,
                      unsigned mode);

/// What is wrong with who could change this (config/trust.hpp). `path` is for the command that mends it.
std::optional<config::Distrust> distrust(const FileStat&, std::string_view path, config::Trust, unsigned self);

/// Refuses ("dir.untrusted") what somebody other than this user and root owns or may write to; the message says which
/// command puts it right. `path` is for that message.
Status require_trusted(const FileStat& stat, std::string_view path);

/// The same for every folder above an absolute path (config/trust.hpp): who may write to one of them can put something
/// else in the place of what is below.
Status require_trusted_above(const std::string& path);

/// Opens the folder at an absolute path by way of the one above it: neither may be a link, and the folder must pass
/// require_trusted().
Result<Directory> open_dir_below(FileSystem& files, const std::string& path);

/// Makes an absolute path a folder of our own: created with mode 0700, parents too. A folder that is there already must
/// pass require_trusted(), as all above it, and must not be a link.
Result<Directory> ensure_private_dir(FileSystem& files, const std::string& path);

}  // namespace inbox_poller::poller
