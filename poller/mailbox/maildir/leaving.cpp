#include "poller/mailbox/maildir/leaving.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <exception>
#include <utility>

namespace inbox_poller::poller {

namespace asio = boost::asio;

Result<std::optional<std::string>> leave(const MaildirRoot& root, const Directory& from, const Directory& to,
                                         const Held& held, Durable durable) {
  const Result<FileStat> there = root.files().stat_at(from, held.name);
  if (!there && !is_errno(there.error(), ENOENT)) return there.error();
  if (!there || there->ino != held.file.stat.ino) return std::optional<std::string>();
  if (durable == Durable::no && root.files().move(from, held.name, to, held.name, Onto::nothing).ok())
    return std::optional(held.name);
  Result<std::string> moved = root.set_aside(from, held.name, to, held.name);
  if (moved) return std::optional(*std::move(moved));
  return is_errno(moved.error(), ENOENT) ? Result<std::optional<std::string>>(std::nullopt) : moved.error();
}

void Leaving::move_all() {
  try {
    for (Held& one : letters_) {
      const Held letter = std::move(one);
      const auto moved = leave(root_, *from_, *to_, letter, Durable::no);
      if (moved && *moved) ++left_;
      if (!moved && !problem_) problem_ = moved.error();
    }
  } catch (const std::exception& thrown) {
    problem_ = Error{"io.exception", to_->path + ": " + thrown.what()};
  }
  letters_.clear();
}

void Leaving::start(const std::shared_ptr<Leaving>& leaving, asio::thread_pool& pool, asio::any_io_executor executor) {
  asio::post(pool, [leaving, guard = asio::make_work_guard(std::move(executor))] {
    leaving->move_all();
    asio::post(guard.get_executor(), [leaving] {
      leaving->has_ended_ = true;
      leaving->end_.raise();
    });
  });
}

asio::awaitable<void> Leaving::ended() {
  while (!has_ended_) co_await end_.wait(end_.count(), std::chrono::seconds(1));
}

}  // namespace inbox_poller::poller
