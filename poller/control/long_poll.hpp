// A request that waits for changes, until its time limit or the end of its connection.
#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>

#include "poller/control/server.hpp"
#include "poller/team/team.hpp"

namespace inbox_poller::poller {

/// Local variable of the waiting coroutine. After each wait check is_over() and is_gone().
class LongPoll {
 public:
  using Span = std::chrono::milliseconds;

  /// Ends after `span` (steady clock), at most a day; zero ends at once.
  LongPoll(Runtime& services, std::shared_ptr<ControlSession> session, Span span = longest)
      : clock_(services.clock),
        session_(std::move(session)),
        deadline_(clock_.steady() + std::clamp(span, Span(0), longest)),
        listens_(services.changes, session_->news) {}

  /// Call before each read of the awaited state. A later change ends the next wait.
  void look() { seen_ = session_->news.count(); }
  [[nodiscard]] bool is_gone() const { return session_->closed; }
  [[nodiscard]] bool is_over() const { return clock_.steady() >= deadline_; }

  /// Waits until a change since look(), a disconnect, the end, or `most`. After a change it waits briefly, so that a
  /// burst causes one read.
  boost::asio::awaitable<void> next(Span most = longest) {
    const auto left = std::chrono::ceil<Span>(deadline_ - clock_.steady());
    co_await session_->news.wait(seen_, std::clamp<Span>(left, Span(1), most));
    if (session_->news.count() != seen_ && !is_gone() && !is_over()) co_await pause(burst);
  }

 private:
  static constexpr Span longest = std::chrono::hours(24);
  static constexpr Span burst{20};

  const Clock& clock_;
  std::shared_ptr<ControlSession> session_;
  SteadyTime deadline_;
  Changes::Listener listens_;
  std::uint64_t seen_ = 0;
};

}  // namespace inbox_poller::poller
