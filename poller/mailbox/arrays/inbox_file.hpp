// One file of a team at one moment: its bytes, which version they are, and whether a later look can tell that version
// from the next. And temporary files, from which a new version is made by rename. What it is not: about locks or
// messages. Source: docs/reference/wire.md W13 (peers rewrite in place or by rename), W14.
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
  ReadOutcome outcome = ReadOutcome::missing;  // `document` says: the bytes are there, nobody has looked into them
  std::string bytes;
  // Kept open: while it is, no other file can get its inode number; and when it has been replaced, the file system
  // frees it when the snapshot goes, not under the lock. (Freeing takes longer than all the rest: up to milliseconds.)
  std::optional<File> file;
  FileVersion version;
  bool settled = false;  // the version alone tells these bytes from later ones
  unsigned mode = 0600;
  std::uint64_t links = 1;
  std::string detail;
};

/// Opens the file if it is regular and not larger than `limit`; nothing is read yet.
Snapshot open_snapshot(FileSystem& files, const Clock& clock, const Directory& at, const std::string& name,
                       std::uint64_t limit);

/// After so many bytes were read, the last one included: `torn` when the file changed since it was opened.
void close_snapshot(FileSystem& files, std::uint64_t bytes_read, Snapshot& snapshot);

/// Both, and all bytes between.
Snapshot take_snapshot(FileSystem& files, const Clock& clock, const Directory& at, const std::string& name,
                       std::uint64_t limit);

/// True if the file begins with exactly these bytes now.
Result<bool> has_bytes(FileSystem& files, const File& file, std::string_view bytes);

/// A file beside `target`, removed with this object unless it was renamed over the target.
class TemporaryFile {
 public:
  TemporaryFile(FileSystem& files, const Directory& at, const std::string& target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// On the disk when this returns.
  Status write(std::string_view bytes, unsigned mode);
  Status replace_target();
  /// Puts our file in the place of the target, if that is still the version that was seen, and keeps the other under
  /// our name until this object goes. False when it was another one: that one is back in its place then.
  Result<bool> exchange_target(const FileVersion& seen);

  /// The process that made a file of this name; empty for names that are not ours.
  static std::optional<int> owner(std::string_view name);

 private:
  /// Names the target instead of our file with its number: the same problem is the same sentence, and is told once.
  [[nodiscard]] Status told(Status status) const;
  Status put_back(FileStat came_out, FileStat ours);

  FileSystem& files_;
  const Directory& at_;
  std::string target_;
  std::string name_;
  bool exists_ = false;
};

}  // namespace inbox_poller::poller
