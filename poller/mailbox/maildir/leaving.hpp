// Moves letters from new/ to cur/, one rename each. Many letters move on the pool while the next ones are committed.
// Invariant: the caller has committed the letters and removed them from its unread ones before it hands them over.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poller/mailbox/maildir/maildir_root.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller {

/// A file that is held open, with its name.
struct Held {
  std::string name;
  File file;
};

/// Whether a move must survive a power cut.
enum class Durable { yes, no };

/// Moves one file; `Durable::no` is for a caller that recognizes the letter if it reappears. Returns the new name;
/// empty if the file is gone or another file has its name. Errors: "io.…".
Result<std::optional<std::string>> leave(const MaildirRoot&, const Directory& from, const Directory& to, const Held&,
                                         Durable);

/// One batch of letters to move.
class Leaving {
 public:
  Leaving(MaildirRoot root, std::shared_ptr<const Directory> from, std::shared_ptr<const Directory> to)
      : root_(std::move(root)), from_(std::move(from)), to_(std::move(to)) {}

  /// Adds a letter, before start().
  void add(Held letter) { letters_.push_back(std::move(letter)); }
  /// Moves all letters on the pool, in order; each file stays open until it was moved. ended() must run on `executor`.
  static void start(const std::shared_ptr<Leaving>&, boost::asio::thread_pool&, boost::asio::any_io_executor executor);
  /// Waits until all letters were tried.
  boost::asio::awaitable<void> ended();

  // Valid after ended():
  [[nodiscard]] std::size_t left() const { return left_; }
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }  // the first error

 private:
  void move_all();

  const MaildirRoot root_;
  const std::shared_ptr<const Directory> from_, to_;
  std::vector<Held> letters_;
  std::size_t left_ = 0;
  std::optional<Error> problem_;
  bool has_ended_ = false;  // executor only, as is `end_`
  Signal end_;
};

}  // namespace inbox_poller::poller
