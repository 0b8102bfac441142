// Hints of changes in an inbox directory, so that a poll can run before its time. A poll finds everything itself,
// whether a hint came, was lost or was needless. Without watches (other systems than Linux, a limit) only the timer
// starts polls.
// Hints decide nothing. A process that may write to the directory can cause earlier polls of its own team, and
// nothing else. Source: inotify(7).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "schema/error.hpp"

namespace inbox_poller::poller {

enum class Watching { yes, no_folder };
/// What of a directory gives a hint: its written files, or also files that leave it and its own end.
enum class Hints { of_writes, of_all };

class FolderWatch {
 public:
  using Wake = std::function<void()>;

  virtual ~FolderWatch() = default;

  /// Calls `wake` after changes of `*.json` and `*.jsonl` files in this directory. Call again regularly, such as before
  /// each wait, to follow a replaced directory; without a change that costs one system call. Errors "watch.<ERRNO>",
  /// "watch.unsupported": only the timer finds changes.
  virtual Result<Watching> watch(const std::string& folder, const Wake& wake, Hints hints = Hints::of_writes) = 0;
  virtual void forget(const std::string& folder) = 0;
};

/// Creates a watch on this executor, with one descriptor for all directories.
std::unique_ptr<FolderWatch> make_folder_watch(boost::asio::any_io_executor executor);

/// Returns the kind of network file system of this directory ("nfs"), where remote changes give no hint. Empty for all
/// others, or if unknown.
std::string network_file_system(const std::string& folder);

}  // namespace inbox_poller::poller
