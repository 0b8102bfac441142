// Letters on their way from new/ to cur/, a rename each. Many of them go on the pool while the next ones are committed:
// whoever hands them over has committed them and knows them no longer as unread.
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

/// Of a file that is held open.
struct Held {
  std::string name;
  File file;
};

enum class Durable { yes, no };

/// Moves one file, durably unless who has it knows it again. The name that it got; none: it does not stand there any
/// more, or another one does.
Result<std::optional<std::string>> leave(const MaildirRoot&, const Directory& from, const Directory& to, const Held&,
                                         Durable);

class Leaving {
 public:
  Leaving(MaildirRoot root, std::shared_ptr<const Directory> from, std::shared_ptr<const Directory> to)
      : root_(std::move(root)), from_(std::move(from)), to_(std::move(to)) {}

  void add(Held letter) { letters_.push_back(std::move(letter)); }
  /// All of them, in their order; each is held until it has gone. `executor`: where ended() is waited for.
  static void start(const std::shared_ptr<Leaving>&, boost::asio::thread_pool&, boost::asio::any_io_executor executor);
  boost::asio::awaitable<void> ended();

  // After the end:
  [[nodiscard]] std::size_t left() const { return left_; }
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }  // the first one

 private:
  void move_all();

  const MaildirRoot root_;
  const std::shared_ptr<const Directory> from_, to_;
  std::vector<Held> letters_;
  std::size_t left_ = 0;
  std::optional<Error> problem_;
  bool has_ended_ = false;  // this and what follows only on the executor
  Signal end_;
};

}  // namespace inbox_poller::poller
