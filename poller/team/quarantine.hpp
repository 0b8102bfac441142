// Folder for copies of files that could not be read. The original stays in place. Rejected or malformed single entries
// are rows of the ledger.
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
  /// The folder is created (mode 0700) with the first copy.
  Quarantine(FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  /// Stores a copy and returns its path; equal bytes of one inbox are stored once. The limit per inbox is 32 copies and
  /// 256 MiB, so that repeated damage cannot fill the disk. Error: "quarantine.full".
  Result<std::string> keep(std::string_view team, std::string_view inbox, std::string_view bytes);

  struct Copy {
    std::string path;
    std::uint64_t size = 0;
    EpochMs modified_ms = 0;
  };
  /// Lists all copies, sorted by path; empty when the folder does not exist.
  Result<std::vector<Copy>> list();

 private:
  Status has_room(const std::string& prefix, std::uint64_t bytes);

  FileSystem& files_;
  std::string folder_;
};

}  // namespace inbox_poller::poller
