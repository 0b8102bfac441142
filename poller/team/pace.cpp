#include "poller/team/pace.hpp"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "poller/pause.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

// Pause between hinted polls: half of the last poll's time again. A burst then causes a few big polls, a flood of hints
// no busy loop. Entries written during a poll do not wait long.
constexpr std::chrono::milliseconds shortest_hinted_interval{1};
constexpr std::chrono::milliseconds longest_hinted_interval{50};
constexpr std::chrono::minutes all_at_first{1};  // every inbox at every poll, until hints were seen to arrive

}  // namespace

asio::awaitable<void> Pace::wait(config::Duration interval) {
  using Timer = asio::steady_timer;
  const auto due = in_step(interval);
  const auto took = Timer::clock_type::now() - polled_at_;
  const auto notified =
      polled_at_ + std::clamp<Timer::duration>(took + took / 2, shortest_hinted_interval, longest_hinted_interval);
  for (;;) {
    const auto until = is_notified_ ? std::min(due, notified) : due;
    if (is_woken_ || Timer::clock_type::now() >= until) break;
    timer_.expires_at(until);
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  is_woken_ = false;
  is_notified_ = false;
  polled_at_ = Timer::clock_type::now();
}

void Pace::wake() {
  is_woken_ = true;
  is_stirred_ = true;
  timer_.cancel();
}

void Pace::notify() {
  is_notified_ = true;
  is_stirred_ = true;
  timer_.cancel();
}

bool Pace::takes_all_boxes() {
  return std::exchange(is_stirred_, false) || !has_watch_ || clock_.steady() - began_ < all_at_first;
}

bool Pace::is_whole(bool rests) {
  const auto now = clock_.steady();
  if (rests) return whole_.take(now);
  whole_.done(now);
  return true;
}

}  // namespace inbox_poller::poller
