// Events of a command with a loop of its own: descriptors that the caller owns, and signals.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <initializer_list>
#include <memory>

namespace inbox_poller::poller::cli {

/// A descriptor that the loop waits for. Its file keeps its flags: other processes may share it, and a non-blocking
/// terminal would disturb the next program.
class Descriptor {
 public:
  using Kind = boost::asio::posix::descriptor_base::wait_type;

  /// Duplicates the descriptor. `ready`: called when it is readable, writable, or (wait_error) its other end is closed.
  /// A file, which cannot be waited for, is always ready.
  Descriptor(boost::asio::io_context&, int descriptor, Kind, std::function<void()> ready);
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// Calls `ready` once, at the next event.
  void await();
  /// Stops waiting and closes the duplicate.
  void close();

 private:
  struct State;
  static void wait(const std::shared_ptr<State>&);

  std::shared_ptr<State> state_;
};

/// Signals for which `came` is called, until destruction. A signal that was ignored at the program's start stays
/// ignored (nohup), except SIGCHLD.
class Signals {
 public:
  Signals(boost::asio::io_context&, std::initializer_list<int> numbers, std::function<void(int)> came);

 private:
  void listen();

  boost::asio::signal_set set_;
  std::function<void(int)> came_;
};

}  // namespace inbox_poller::poller::cli
