// The facts about a team's JSONL inboxes that must survive a restart, in one small JSON file next to the ledger.
// The file does not contain messages. It keeps three facts for each inbox: the generation (how often the inbox was
// emptied), the mark of an emptying that was under way, and the files that were put aside.
// Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

/// The state of an inbox file immediately before it is emptied.
struct FileMark {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t ctime_ns = 0;
  std::string tail;  // hash of the last bytes, at most 4 KiB
  bool operator==(const FileMark&) const = default;
};

/// An inbox file that was exchanged for an empty one. Programs that opened the file earlier may still write into it.
struct AsideFile {
  std::string name;
  std::uint64_t inode = 0;
  std::uint64_t generation = 0;
  EpochMs since_ms = 0;
  bool operator==(const AsideFile&) const = default;
};

/// The record of one inbox.
struct BoxRecord {
  std::uint64_t generation = 0;
  std::optional<FileMark> emptying;
  std::vector<AsideFile> aside;
  bool operator==(const BoxRecord&) const = default;
};

enum class FileNow { as_marked, emptied };
/// Decides whether the emptying that `mark` announced took place. `tail_now` is the hash of the bytes before
/// `mark.size`; it is ignored unless the file is longer than `mark.size`.
FileNow judge(const FileMark& mark, const FileStat& now, const std::string& tail_now);

/// The records of all inboxes of a team, held in memory; load() and save() access the file.
class BoxRecords {
 public:
  /// Keeps references; `files` must outlive this object. `path` is absolute; save() creates its directory.
  BoxRecords(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  /// Reads the file, once; a missing file counts as empty.
  /// Errors: "jsonl.record" once for a file of another shape, which then counts as empty. After "io.…" call again.
  Status load();
  /// Returns the record of this inbox; creates an empty one if there is none.
  BoxRecord& of(const std::string& box) { return records_[box]; }
  /// Replaces the file in one rename; with `durable` the change also survives a power cut. The file is whole after a
  /// power cut either way. Errors: "io.…".
  Status save(bool durable);

 private:
  FileSystem& files_;
  std::string path_;
  std::map<std::string, BoxRecord> records_;
  bool is_loaded_ = false;
};

}  // namespace inbox_poller::poller
