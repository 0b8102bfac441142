// What is done with a few files, as the kernel saw it: who read them, changed them, or took them away, in the order in
// which it happened. Nothing is told of who it was, our own calls among them. What it is not: a hint (folder_watch.hpp);
// here what is told is evidence, and that something may be missing is told as well. Source: inotify(7).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

struct FileEvent {
  enum class What {
    read,     // some bytes of it
    changed,  // written, cut, or both at once by one call
    gone,     // has lost its last name, or is watched no more
    missed,   // of any file: events were lost here
  };
  int file = 0;
  What what = What::read;
};

class FileWatch {
 public:
  virtual ~FileWatch() = default;
  /// Watches the file that has this name now; the same number for the same file. An error ("watch.…") where there is no
  /// such thing, or no more of it.
  virtual Result<int> watch(const std::string& path) = 0;
  virtual void forget(int file) = 0;
  /// What happened since the last call. Never waits.
  virtual std::vector<FileEvent> drain() = 0;
};

std::unique_ptr<FileWatch> make_file_watch();

}  // namespace inbox_poller::poller
