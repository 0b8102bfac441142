// The interface to files: every system call on files and directories, so that tests can make each fail. It is not a
// path library.
// Calls are relative to an open directory, do not follow a link in the last component, and do not block on a FIFO.
// Retries are up to the caller; a failed sync must not be retried, because the pages may be lost.
// Errors have the code "io.<ERRNO>" and a message with the path, except the codes below. Source:
// docs/dev/architecture.md, "Errors"; POSIX.1-2017.
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

/// Codes of errors without an errno.
namespace code {
inline constexpr std::string_view not_regular = "file.not_regular";  // a FIFO, directory, link, socket or device
inline constexpr std::string_view untrusted = "dir.untrusted";       // a link, or others may write to it
}  // namespace code

/// An owned file descriptor.
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
  FileStat stat;     // when opened
  std::string path;  // for messages
};

struct File {
  Fd fd;
  FileStat stat;     // when opened; always regular
  std::string path;  // for messages
};

/// The kernel's lease of a file. Any process that opens the file in a conflicting mode waits until it is released.
enum class Lease {
  none,
  read,   // granted while no process has it open for writing; for a file of open_read()
  write,  // granted while no other process has it open; for a file of open_update()
};

/// The directory to pass with an absolute path.
inline const Directory absolute{};

/// The names that a move may replace.
enum class Onto { nothing, anything };

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Opens a directory. Error "dir.untrusted": a link or a file.
  virtual Result<Directory> open_dir(const Directory& at, const std::string& name) = 0;
  /// Opens a regular file for reading, without waiting for a FIFO. Error "file.not_regular".
  virtual Result<File> open_read(const Directory& at, const std::string& name) = 0;
  /// Opens a regular file for reading and overwriting. Error "file.not_regular".
  virtual Result<File> open_update(const Directory& at, const std::string& name) = 0;
  /// Opens a regular file for append(), and creates it with mode 0600 if missing. Error "file.not_regular".
  virtual Result<File> open_append(const Directory& at, const std::string& name) = 0;
  /// Creates a file with exactly these permission bits, whatever the umask. Error "io.EEXIST": the name is taken.
  virtual Result<File> create_exclusive(const Directory& at, const std::string& name, unsigned mode) = 0;

  /// Returns the state of the name itself, without following links.
  virtual Result<FileStat> stat_at(const Directory& at, const std::string& name) = 0;
  /// Returns the present state of the open file.
  virtual Result<FileStat> stat(const File& file) = 0;

  /// Reads until the buffer is full or the file ends. Returns the number of bytes.
  virtual Result<std::size_t> read_at(const File& file, char* buffer, std::size_t size, std::uint64_t offset) = 0;
  /// Writes all bytes; after an error a part may have been written.
  virtual Status write_at(const File& file, std::string_view bytes, std::uint64_t offset) = 0;
  /// Does the same at the end of a file of open_append().
  virtual Status append(const File& file, std::string_view bytes) = 0;
  /// Truncates the file, or extends it with zeros.
  virtual Status truncate(const File& file, std::uint64_t size) = 0;
  /// Takes or releases the kernel's lease of a file, without waiting. False: another process has it open; retry later.
  /// Errors such as "io.EINVAL", "io.EACCES": no leases on this system or network file system, or another user's
  /// file. Hold a lease less than a millisecond. From the first call on SIGIO is ignored, which reports waiting
  /// processes. Source: fcntl(2), F_SETLEASE.
  virtual Result<bool> set_lease(const File& file, Lease lease) = 0;
  /// True if another process waits for a write lease that is held.
  virtual bool lease_is_wanted(const File& file) = 0;
  /// Flushes to the disk itself where the system supports that, not only to the drive's cache.
  virtual Status sync(const File& file) = 0;
  virtual Status sync_dir(const Directory& directory) = 0;

  virtual Status rename_at(const Directory& at, const std::string& from, const std::string& to) = 0;
  /// Exchanges two names in one step. Error "io.EINVAL" or "io.ENOSYS": not supported.
  virtual Status exchange_at(const Directory& at, const std::string& one, const std::string& other) = 0;
  /// Moves a name to another directory. An existing target is replaced, or stays with error "io.EEXIST".
  virtual Status move(const Directory& from, const std::string& name, const Directory& to, const std::string& as,
                      Onto onto) = 0;
  /// Does the same as exchange_at() across two directories.
  virtual Status swap(const Directory& at, const std::string& one, const Directory& there, const std::string& other) = 0;
  virtual Status unlink_at(const Directory& at, const std::string& name) = 0;
  virtual Status mkdir_at(const Directory& at, const std::string& name, unsigned mode) = 0;
  virtual Status rmdir_at(const Directory& at, const std::string& name) = 0;
  /// Lists all names except "." and "..", in no order.
  virtual Result<std::vector<std::string>> list(const Directory& directory) = 0;
  /// Locks an open file or directory with flock(2) until it is closed, also by the process's death. Binds only
  /// processes that lock. Does not wait. Error "io.EAGAIN": another process has the lock.
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

/// Builds the error of an errno value: code "io.ENOENT", message "<action> <path>: <strerror>".
Error io_error(int errno_value, std::string_view action, std::string_view path);
/// True for the error that io_error() builds of this value.
bool is_errno(const Error& error, int errno_value);

/// Describes a kind for messages, such as "a FIFO, socket or device".
std::string_view describe(FileKind kind);

/// Reads the file from its start, at most the size that it had when opened.
Result<std::string> read_all(FileSystem& files, const File& file);

/// Creates a file with these bytes, flushed to the disk (its name only after sync_dir()). Removes the file after a
/// later error.
Status create_durable(FileSystem& files, const Directory& at, const std::string& name, std::string_view bytes,
                      unsigned mode);

/// Explains why others could change a path (config/trust.hpp). `path` is for the command that fixes it.
std::optional<config::Distrust> distrust(const FileStat&, std::string_view path, config::Trust, unsigned self);

/// Checks that only this user and root own the path or may write to it. Error "dir.untrusted", with the command that
/// fixes it. `path` is for that message.
Status require_trusted(const FileStat& stat, std::string_view path);

/// Does the same for every directory above an absolute path (config/trust.hpp). A writer of one of them could replace
/// what is below.
Status require_trusted_above(const std::string& path);

/// Opens an absolute path through its parent directory: neither may be a link, and the directory must pass
/// require_trusted().
Result<Directory> open_dir_below(FileSystem& files, const std::string& path);

/// Makes an absolute path a private directory: created with mode 0700, parents too. An existing one must pass
/// require_trusted(), all above it too, and must not be a link.
Result<Directory> ensure_private_dir(FileSystem& files, const std::string& path);

}  // namespace inbox_poller::poller
