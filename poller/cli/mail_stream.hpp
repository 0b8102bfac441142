// A receiver's conversation with the daemon, for `recv --follow` and `lead run`. It holds a delivery method, receives
// and acknowledges messages, and reports the lead's activity. A lost daemon is retried after at most a second.
// Invariant: it requests messages only when all acknowledgments and reports are sent. A new daemon first gets those
// that the old one did not, so that no acknowledged message is received again.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/control/client.hpp"

namespace inbox_poller::poller::cli {

/// The consumer of the messages.
class MailReader {
 public:
  /// Number of messages that may arrive now; 0: none.
  [[nodiscard]] virtual std::size_t room() const = 0;
  /// Receive the daemon's answers to `attach` and `recv`.
  virtual void attached(const boost::json::object& answer) = 0;
  virtual void received(const boost::json::object& answer) = 0;
  /// Reports that the connection was lost, and the time since it last worked. False stops all retries. `why` is empty
  /// after a requeue().
  virtual bool lost(const Error& why, std::chrono::milliseconds since) = 0;
  /// Reports that an acknowledgment or a report was sent. `all`: each acknowledged message still had a lease.
  virtual void told(bool all) = 0;

 protected:
  ~MailReader() = default;
};

class MailStream {
 public:
  struct Settings {
    std::string socket;
    std::string team;  // empty: the only one; set by the first answer
    std::string way;
    bool ignore_busy = false;
    std::string after;  // acknowledged before the start: this message and those delivered before it
  };

  MailStream(boost::asio::io_context& loop, Settings settings, MailReader& reader);
  void start();

  /// Queues an acknowledgment of these messages. `assumed`: no proof of arrival exists.
  void acknowledge(std::vector<std::string> keys, bool assumed = false);
  /// Queues a report of the lead's activity, an event of the daemon's table. A later report replaces an unsent one; a
  /// new daemon gets the last one again.
  void report(std::string_view event, const std::string& session);
  /// Closes the connection, so that the daemon requeues all unacknowledged messages.
  void requeue() { lose({}); }
  /// Wakes the stream after a change, such as when the reader has room again.
  void wake() { changed_.cancel(); }

  [[nodiscard]] std::size_t unacknowledged() const;
  /// True when nothing is left to send, or only reports are left and no daemon is connected. Acknowledgments are worth
  /// the wait for a daemon.
  [[nodiscard]] bool settled() const;

  /// Sends one request on this connection. An error of the daemon is returned with the daemon's code.
  static boost::asio::awaitable<Result<boost::json::object>> exchange(ControlClient client,
                                                                      boost::json::object request);

 private:
  struct Acknowledgment {
    std::vector<std::string> keys;
    bool assumed = false;
    bool told_before = false;  // sent before to a daemon that may have received it
  };

  [[nodiscard]] bool all_told() const { return told_ && !telling_ && acknowledgments_.empty(); }
  boost::asio::awaitable<void> converse();
  boost::asio::awaitable<Error> serve();
  boost::asio::awaitable<void> tell_all();
  boost::json::object next_to_tell();
  boost::asio::awaitable<void> change();
  void lose(Error why);

  boost::asio::io_context& loop_;
  Settings settings_;
  MailReader& reader_;
  boost::asio::steady_timer changed_;  // coroutines wait here for a change; canceled at each change

  std::optional<ControlClient> mail_;  // holds the delivery method; the daemon requeues its messages when it closes
  std::optional<ControlClient> side_;  // for one request that must not wait for a pending recv
  bool stands_ = false;
  bool served_ = false;  // since the last loss
  std::optional<Error> lost_;
  std::size_t most_;  // messages a request

  std::deque<Acknowledgment> acknowledgments_;
  std::string event_, session_;
  bool told_ = true;  // event_ was sent
  bool telling_ = false;
};

}  // namespace inbox_poller::poller::cli
