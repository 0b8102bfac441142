// Tells early that something changed in a folder of inboxes, so that a poll need not wait for its time. A hint and
// nothing more: every poll finds everything by itself, whether a hint came, was lost or was one too many. Where there
// is no watching (other systems than Linux, a limit that is reached) the timer alone does it, only later. Nothing is
// read or decided by what a hint says: who may write to the folder can make as many as he likes, and gets earlier polls
// of his own team. Source: inotify(7).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "schema/error.hpp"

namespace inbox_poller::poller {

enum class Watching { yes, no_folder };

class FolderWatch {
 public:
  using Wake = std::function<void()>;

  virtual ~FolderWatch() = default;

  /// Calls `wake` after changes of `*.json` and `*.jsonl` files in this folder. To be called again and again, for instance before
  /// each wait: it follows the name to another folder that has taken its place, and costs one system call where all is
  /// as before. An error ("watch.<ERRNO>", "watch.unsupported") says why changes are seen by the timer only.
  virtual Result<Watching> watch(const std::string& folder, const Wake& wake) = 0;
  virtual void forget(const std::string& folder) = 0;
};

/// One descriptor for all folders, on this executor.
std::unique_ptr<FolderWatch> make_folder_watch(boost::asio::any_io_executor executor);

/// The kind of network file system that this folder lies on ("nfs"), where changes made on another machine give no
/// hint; empty for all others, and where that cannot be told.
std::string network_file_system(const std::string& folder);

}  // namespace inbox_poller::poller
