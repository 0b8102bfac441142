// Decides when a team's next poll starts and how much it covers. The interval alone finds every change; hints only find
// it earlier. Source: docs/adr/0016-inotify-only-polls-earlier.md.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "config/config.hpp"
#include "poller/clock.hpp"
#include "poller/every.hpp"

namespace inbox_poller::poller {

class Pace {
 public:
  Pace(boost::asio::any_io_executor executor, const Clock& clock)
      : clock_(clock), timer_(std::move(executor)), began_(clock.steady()) {}

  /// Waits for the interval, or until wake() or notify() is called.
  boost::asio::awaitable<void> wait(config::Duration interval);
  /// Ends the wait at once, because work is due (a person answered, the lead became idle).
  void wake();
  /// Schedules an early poll, because an inbox may have changed. Polls stay a few milliseconds apart, however many
  /// hints arrive.
  void notify();
  /// Sets if notify() is believed to be called for every change.
  void set_watch(bool has_watch) { has_watch_ = has_watch; }

  /// True when this poll reads every inbox, not just some in turn. Call once at the start of a poll.
  [[nodiscard]] bool takes_all_boxes();
  /// True when a full poll is due, because the last one is some seconds old. `rests`: there is no other reason for one.
  [[nodiscard]] bool is_whole(bool rests);

 private:
  const Clock& clock_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer::time_point polled_at_;  // when the present or the last poll started
  SteadyTime began_;
  Every whole_{std::chrono::seconds(5)};  // interval of full polls while nothing but the time changes
  bool is_woken_ = false;
  bool is_notified_ = false;
  bool is_stirred_ = true;  // woken or hinted since the last poll started
  bool has_watch_ = false;
};

}  // namespace inbox_poller::poller
