// Many letters read by two threads, as reading one is a handful of system calls and little else: whoever comes takes the
// next few. Who began it waits for nothing but those that the other has begun, and does all of it when the other is busy.
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

class Reading {
 public:
  /// `room`: so many bytes of letters are read at most; the rest is left to the caller.
  Reading(MaildirRoot root, std::shared_ptr<const Directory> folder, std::vector<std::string> names, std::size_t room)
      : root_(std::move(root)), folder_(std::move(folder)), names_(std::move(names)), room_(room), read_(names_.size()) {}

  /// What became of each name, in their order; none: left to the caller.
  using Letters = std::vector<std::optional<Result<Letterfile>>>;
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
