// When a team's next poll begins, and how much of it is due. The interval alone finds everything; hints only make it
// find things sooner. Source: docs/adr/0016-a-watch-is-a-hint.md.
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

  /// Waits for the interval, or until somebody pokes or hints.
  boost::asio::awaitable<void> wait(config::Duration interval);
  /// Something is to be done now (a person answered, the lead went idle): do not wait for the interval.
  void wake();
  /// Something may have changed in the inboxes: poll soon. However many hints come, polls stay a few milliseconds
  /// apart.
  void hint();
  /// Whether hint() is called for every change, as far as anybody knows.
  void hears_changes(bool hears) { hears_changes_ = hears; }

  /// Once at the beginning of a poll: whether it looks at every box, and not only at some of them in turn.
  [[nodiscard]] bool takes_all_boxes();
  /// Whether a poll has to be a whole one, because the last of them is some seconds old. `rests`: nothing else speaks
  /// for one.
  [[nodiscard]] bool is_whole(bool rests);

 private:
  const Clock& clock_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer::time_point polled_at_;  // when the poll under way or the last one began
  SteadyTime began_;
  Every whole_{std::chrono::seconds(5)};  // where nothing changes but the time
  bool is_poked_ = false;
  bool is_hinted_ = false;
  bool is_stirred_ = true;  // poked or hinted since the last poll began
  bool hears_changes_ = false;
};

}  // namespace inbox_poller::poller
