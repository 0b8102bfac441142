// The folder for files that could not be read: a copy of the bytes, never the only one, the original stays where it is.
// Single entries that were refused or bad are rows of the ledger.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

class Quarantine {
 public:
  /// `folder` is made (0700) when the first copy is kept.
  Quarantine(FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  /// Keeps a copy; the same bytes of the same inbox are kept once. Returns the copy's path. Of one inbox no more than
  /// 32 copies and 256 MiB are kept, so that nobody fills the disk with ever new damage: "quarantine.full".
  Result<std::string> keep(std::string_view team, std::string_view inbox, std::string_view bytes);

  struct Copy {
    std::string path;
    std::uint64_t size = 0;
    EpochMs modified_ms = 0;
  };
  /// All copies, sorted by path; none when there is no folder yet.
  Result<std::vector<Copy>> list();

 private:
  Status has_room(const std::string& prefix, std::uint64_t bytes);

  FileSystem& files_;
  std::string folder_;
};

}  // namespace inbox_poller::poller
