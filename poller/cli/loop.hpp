// What a command with a loop of its own waits for beside the daemon: descriptors that stay somebody else's, and signals.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <initializer_list>
#include <memory>

namespace inbox_poller::poller::cli {

/// A descriptor, waited for whenever something is to be done with it. It is left as it is: others may have it too, and
/// a terminal that no longer blocks is a nuisance to whoever comes after us.
class Descriptor {
 public:
  using Kind = boost::asio::posix::descriptor_base::wait_type;

  /// `ready`: it can be read, written, or (wait_error) nobody is at its other end. What cannot be waited for, a file,
  /// always can.
  Descriptor(boost::asio::io_context&, int descriptor, Kind, std::function<void()> ready);
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// Calls `ready` once.
  void await();
  /// Nothing is waited for any more, and its other side may learn that it is closed.
  void close();

 private:
  struct State;
  static void wait(const std::shared_ptr<State>&);

  std::shared_ptr<State> state_;
};

/// Calls `came` for each of these signals until the end of its life. One that was ignored when we were started stays
/// ignored (nohup).
class Signals {
 public:
  Signals(boost::asio::io_context&, std::initializer_list<int> numbers, std::function<void(int)> came);

 private:
  void listen();

  boost::asio::signal_set set_;
  std::function<void(int)> came_;
};

}  // namespace inbox_poller::poller::cli
