// One client's conversation: requests, answers, concurrent calls; serve.hpp provides the process.
// A received message is only leased. It is acknowledged when the client has read the answer and then sends another
// request, or ends the conversation alive. It is requeued when its call is canceled, the client dies, or `ack_within`
// passes. Source: docs/reference/mcp.md.
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

/// The output to the client.
class Wire {
 public:
  virtual void write(std::string line) = 0;
  /// Number of written bytes that the client has read, as far as known.
  [[nodiscard]] virtual std::uint64_t read_by_client() = 0;
  /// True while so much is unwritten that only answers should be added.
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
  static constexpr std::size_t most_open = 256;  // open calls

  Server(boost::asio::io_context& loop, Backend& backend, Wire& wire, Settings settings);
  ~Server();

  /// Handles one line of the client, without its newline.
  void hear(std::string_view line);
  void hear_too_long() { refuse(too_long()); }
  /// Sends a notification.
  void notify(std::string_view method, boost::json::object params);
  /// Called once the client is ready for notifications.
  std::function<void()> client_is_ready = [] {};
  /// Called for each permission prompt of the client, if there is a channel.
  std::function<void(const boost::json::object&)> client_asks = [](const boost::json::object&) {};

  /// Must be called at the end of the input: cancels waiting calls; all others continue.
  void input_ended();
  /// True while no call runs.
  [[nodiscard]] bool idle() const { return running_ == 0; }
  /// True while a received message is not acknowledged.
  [[nodiscard]] bool holds() const { return !handed_.empty(); }
  /// Ends the conversation. `lives`: the client has ended it and was not killed, so what it has read is acknowledged.
  void leave(bool lives);

 private:
  enum class Era { legacy, modern };
  struct Call;
  using CallPtr = std::shared_ptr<Call>;
  struct Handed {
    std::string id;  // of the call, as JSON
    std::string ticket;
    std::uint64_t end = 0;  // of the answer, as an offset in all bytes written
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
  std::map<std::string, CallPtr> open_;  // by id, as JSON
  std::size_t running_ = 0;              // includes canceled calls that have not ended
  std::deque<Handed> handed_;
  std::uint64_t written_ = 0;
  boost::asio::steady_timer unacknowledged_;
};

}  // namespace inbox_poller::poller::cli::mcp
