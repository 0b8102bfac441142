// Reads many letters with two threads, because a letter costs a handful of system calls and little else.
// Each thread takes the next 32 names. The caller waits only for names that the pool has begun, and reads all of them
// if the pool is busy.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poller/mailbox/maildir/maildir_root.hpp"

namespace inbox_poller::poller {

/// One batch of letters to read.
class Reading {
 public:
  /// `room` limits the read letters, in bytes; no letter is begun after that, and the rest is left to the caller.
  Reading(MaildirRoot root, std::shared_ptr<const Directory> folder, std::vector<std::string> names, std::size_t room)
      : root_(std::move(root)), folder_(std::move(folder)), names_(std::move(names)), room_(room), read_(names_.size()) {}

  /// One result for each name, in order; empty: left to the caller.
  using Letters = std::vector<std::optional<Result<Letterfile>>>;
  /// Reads the letters on the calling thread and one thread of the pool; blocks until all are read.
  static Letters all(const std::shared_ptr<Reading>&, boost::asio::thread_pool&);

 private:
  void take_part();

  const MaildirRoot root_;
  const std::shared_ptr<const Directory> folder_;
  const std::vector<std::string> names_;
  const std::size_t room_;
  Letters read_;
  std::atomic<std::size_t> begun_ = 0, ended_ = 0;  // of the names
  std::atomic<std::size_t> bytes_ = 0;
};

}  // namespace inbox_poller::poller
