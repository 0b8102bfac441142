// One client's conversation: requests in, answers out, calls side by side. It has no process around it (serve.hpp
// has). A message that was handed out is only offered. It is taken when the client has read the answer out of the pipe
// and then asks for something else, or ends its side of the conversation while it lives; it is given back when the call
// was cancelled, when the client died, and after `ack_within`. Source: docs/reference/mcp.md.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "poller/cli/mcp/backend.hpp"
#include "poller/cli/mcp/rpc.hpp"

namespace inbox_poller::poller::cli::mcp {

/// The way to the client.
class Wire {
 public:
  virtual void write(std::string line) = 0;
  /// How many bytes of all that was written the client has read, as far as that can be known.
  [[nodiscard]] virtual std::uint64_t read_by_client() = 0;
  /// So much waits to be written that only answers should be added.
  [[nodiscard]] virtual bool is_full() const = 0;

 protected:
  ~Wire() = default;
};

class Server {
 public:
  struct Settings {
    std::chrono::milliseconds ack_within{std::chrono::minutes(10)};
    std::chrono::milliseconds progress_every{5000};
    bool channel = false;
    std::function<void(const std::string&)> complain = [](const std::string&) {};
  };
  static constexpr std::size_t most_open = 256;  // calls

  Server(boost::asio::io_context& loop, Backend& backend, Wire& wire, Settings settings);
  ~Server();

  /// One line of the client's, without its newline.
  void hear(std::string_view line);
  void hear_too_long() { refuse(too_long()); }
  /// Says something unasked.
  void notify(std::string_view method, boost::json::object params);
  /// Called once the client has said that it is ready to hear such things.
  std::function<void()> client_is_ready = [] {};
  /// Called with what the client says of a permission prompt of its own, where there is a channel.
  std::function<void(const boost::json::object&)> client_asks = [](const boost::json::object&) {};

  /// The client says nothing more: who waits is ended, what works goes on.
  void input_ended();
  /// Nothing works any more.
  [[nodiscard]] bool idle() const { return running_ == 0; }
  /// Something was handed out, and is not acknowledged.
  [[nodiscard]] bool holds() const { return !handed_.empty(); }
  /// The end. `lives`: the client has ended it, and was not killed; then what it has read is taken.
  void leave(bool lives);

 private:
  enum class Era { legacy, modern };
  struct Call;
  using CallPtr = std::shared_ptr<Call>;
  struct Handed {
    std::string id;  // of the call, as JSON
    std::string ticket;
    std::uint64_t end = 0;  // of the answer, in all that was written
    std::chrono::steady_clock::time_point until;
  };

  void hear(Request request);
  void hear(const Notification&);
  void answer(const boost::json::value& id, Era, boost::json::object result);
  void refuse(const Faulty&, boost::json::object data = {});
  void write(std::string line);
  void initialize(const Request&);
  void discover(const Request&);
  void list(const Request&, Era);
  void begin(Request&, Era);
  void answer_error(const boost::json::value& id, Era, const std::string& sentence);
  boost::asio::awaitable<void> work(CallPtr, boost::json::object arguments);
  void over(const CallPtr&, Result<Given>);
  void progress(const CallPtr&, int beats);
  void cancel(const std::string& id);
  void take_what_was_read();
  void watch_handed();

  boost::asio::io_context& loop_;
  Backend& backend_;
  Wire& wire_;
  Settings settings_;
  std::map<std::string, CallPtr> open_;  // by their ids, as JSON
  std::size_t running_ = 0;              // those that were cancelled and are not over included
  std::deque<Handed> handed_;
  std::uint64_t written_ = 0;
  boost::asio::steady_timer unacknowledged_;
};

}  // namespace inbox_poller::poller::cli::mcp
