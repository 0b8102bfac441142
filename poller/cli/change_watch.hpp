// Hears from the daemon that something has changed, for a command that stays: the verb `changes` over a connection of its
// own, for as long as it lives.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <string>

namespace inbox_poller::poller::cli {

class ChangeWatch {
 public:
  /// `changed` is called after each change, and every second while no daemon answers: whoever asks then learns why.
  ChangeWatch(boost::asio::io_context& loop, std::string socket, std::function<void()> changed)
      : loop_(loop), socket_(std::move(socket)), changed_(std::move(changed)) {}

  /// Until the loop ends.
  void start();

 private:
  boost::asio::awaitable<void> hear();

  boost::asio::io_context& loop_;
  const std::string socket_;
  const std::function<void()> changed_;
};

}  // namespace inbox_poller::poller::cli
