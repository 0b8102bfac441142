// One file of a team at one moment: its bytes, its version, and whether a later stat can distinguish that version from
// the next. Also temporary files, which become a new version by rename. Locks and messages are outside of this file's
// scope.
// Source: docs/reference/wire.md W13 (peers rewrite in place or by rename), W14.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/arrays/outcomes.hpp"
#include "poller/mailbox/file_version.hpp"

namespace inbox_poller::poller {

struct Snapshot {
  ReadOutcome outcome = ReadOutcome::missing;  // `document`: a regular file was read; not parsed yet
  std::string bytes;
  // Kept open, so that no other file can get its inode number. A replaced file is then freed by the file system when
  // the snapshot ends, not under the lock: freeing takes up to milliseconds, longer than all other steps.
  std::optional<File> file;
  FileVersion version;
  bool settled = false;  // the version alone distinguishes these bytes from later ones
  unsigned mode = 0600;
  std::uint64_t links = 1;
  std::string detail;
};

/// Opens the file if it is regular and not larger than `limit` bytes; reads nothing yet.
Snapshot open_snapshot(FileSystem& files, const Clock& clock, const Directory& at, const std::string& name,
                       std::uint64_t limit);

/// Checks the version after the last of `bytes_read` bytes was read. Sets `torn` when the file changed since it was
/// opened.
void close_snapshot(FileSystem& files, std::uint64_t bytes_read, Snapshot& snapshot);

/// Opens the file, reads all bytes, and checks the version.
Snapshot take_snapshot(FileSystem& files, const Clock& clock, const Directory& at, const std::string& name,
                       std::uint64_t limit);

/// True if the file begins with exactly these bytes now. Errors: io.<ERRNO>.
Result<bool> has_bytes(FileSystem& files, const File& file, std::string_view bytes);

/// A file in the folder of `target`. The destructor removes it unless it was renamed over the target.
class TemporaryFile {
 public:
  TemporaryFile(FileSystem& files, const Directory& at, const std::string& target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Creates the file with these bytes, durably when it returns. Errors: io.<ERRNO>.
  Status write(std::string_view bytes, unsigned mode);
  Status replace_target();
  /// Exchanges the file with the target, if the target is still the version `seen`. The old target keeps our name
  /// until this object ends. Returns false if the target was another version, which is back in its place then. Errors:
  /// io.<ERRNO>.
  Result<bool> exchange_target(const FileVersion& seen);

  /// Returns the process id in the name of a temporary file; empty for other names.
  static std::optional<int> owner(std::string_view name);

 private:
  /// Names the target in a message instead of our numbered file. The same problem then has the same text, and is
  /// reported once.
  [[nodiscard]] Status told(Status status) const;
  Status put_back(FileStat came_out, FileStat ours);

  FileSystem& files_;
  const Directory& at_;
  std::string target_;
  std::string name_;
  bool exists_ = false;
};

}  // namespace inbox_poller::poller
