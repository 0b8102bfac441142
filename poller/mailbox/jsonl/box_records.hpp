// What must be known of a team's JSONL boxes over a restart: in which generation of its lines a file is (how often it has
// been emptied), how to tell whether the emptying that was under way took place, and which files were put aside.
// One small file of ours beside the ledger. Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

/// A file as it is about to be emptied.
struct FileMark {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t ctime_ns = 0;
  std::string tail;  // a hash of its last bytes
  bool operator==(const FileMark&) const = default;
};

/// A file that another one took the place of; whoever had it open before may still write into it.
struct AsideFile {
  std::string name;
  std::uint64_t inode = 0;
  std::uint64_t generation = 0;
  EpochMs since_ms = 0;
  bool operator==(const AsideFile&) const = default;
};

struct BoxRecord {
  std::uint64_t generation = 0;
  std::optional<FileMark> emptying;
  std::vector<AsideFile> aside;
  bool operator==(const BoxRecord&) const = default;
};

enum class FileNow { as_marked, emptied };
/// Whether the emptying that this mark announced took place. `tail_now`: the same hash of what stands before mark.size
/// now; not looked at when the file is no longer than that.
FileNow judge(const FileMark& mark, const FileStat& now, const std::string& tail_now);

class BoxRecords {
 public:
  /// An absolute path; the folder is made when it is needed.
  BoxRecords(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  /// Reads the file; there need not be one. An error when it is none of ours: nothing is known then.
  Status load();
  BoxRecord& of(const std::string& box) { return records_[box]; }
  /// `durable`: also after a power cut.
  Status save(bool durable);

 private:
  FileSystem& files_;
  std::string path_;
  std::map<std::string, BoxRecord> records_;
};

}  // namespace inbox_poller::poller
