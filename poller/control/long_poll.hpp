// A request that waits for something: until a time it named, and no longer than its connection lives.
#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>

#include "poller/control/server.hpp"
#include "poller/team/team.hpp"

namespace inbox_poller::poller {

/// Lives in the coroutine that waits. After each wait it is to be looked at again: is it over, is the peer gone.
class LongPoll {
 public:
  using Span = std::chrono::milliseconds;

  /// Until `span` has passed, a day at most; with none it is over at once.
  LongPoll(Runtime& services, std::shared_ptr<ControlSession> session, Span span = longest)
      : clock_(services.clock),
        session_(std::move(session)),
        deadline_(clock_.steady() + std::clamp(span, Span(0), longest)),
        listens_(services.changes, session_->news) {}

  /// To be called before each look at what is waited for: what changes after it ends the next wait.
  void look() { seen_ = session_->news.count(); }
  [[nodiscard]] bool is_gone() const { return session_->closed; }
  [[nodiscard]] bool is_over() const { return clock_.steady() >= deadline_; }

  /// Until something has changed since look(), the peer goes, it is over, or `most` has passed. After a change a little
  /// longer: what comes in a burst is looked at once.
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
