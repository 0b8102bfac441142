// Events of a few files in the order in which the kernel saw them: read, changed, gone. Events do not name the process,
// and include those of this process. They are evidence, unlike the hints of folder_watch.hpp; lost events are reported.
// Source: inotify(7).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

struct FileEvent {
  enum class What {
    read,     // some bytes were read
    changed,  // written or truncated, or both by one call
    gone,     // renamed, without a name left, or not watched any more
    missed,   // events of any file were lost
  };
  int file = 0;
  What what = What::read;
};

class FileWatch {
 public:
  virtual ~FileWatch() = default;
  /// Watches the file that has this name now. Returns the same number for the same file. Error "watch.<ERRNO>": there
  /// is no such file, or the limit is reached; "watch.unsupported".
  virtual Result<int> watch(const std::string& path) = 0;
  virtual void forget(int file) = 0;
  /// Returns the events since the last call, without waiting.
  virtual std::vector<FileEvent> drain() = 0;
};

std::unique_ptr<FileWatch> make_file_watch();

}  // namespace inbox_poller::poller
