#include "poller/mailbox/maildir/reading.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace inbox_poller::poller {

namespace {
constexpr std::size_t piece = 32;  // names; the caller waits for one piece at most, some tenths of a millisecond
}

Reading::Letters Reading::all(const std::shared_ptr<Reading>& reading, boost::asio::thread_pool& pool) {
  boost::asio::post(pool, [reading] { reading->take_part(); });
  reading->take_part();
  const std::size_t count = reading->names_.size();
  for (std::size_t ended = reading->ended_; ended < count; ended = reading->ended_) reading->ended_.wait(ended);
  return std::move(reading->read_);
}

void Reading::take_part() {
  for (std::size_t first = 0; (first = begun_.fetch_add(piece)) < names_.size();) {
    const std::size_t last = std::min(first + piece, names_.size());
    for (std::size_t i = first; i < last && bytes_ < room_; ++i) {
      try {
        read_[i] = root_.read(*folder_, names_[i]);
        if (*read_[i]) bytes_ += (*read_[i])->bytes.size();
      } catch (const std::exception&) {
        read_[i].reset();  // the caller reads the file and meets the error again
      }
    }
    ended_ += last - first;
    ended_.notify_one();
  }
}

}  // namespace inbox_poller::poller
