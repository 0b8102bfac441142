// The conversation with the daemon of whoever stays and receives for the lead: `recv --follow` and `lead run`. It stands
// at a way of the ladder, takes messages, acknowledges them and tells what the lead does; a daemon that goes away is
// looked for again, at most a second apart. Invariants: more messages are asked for only when everything is told, and
// what one daemon was not told is told to the next one first: what was taken does not come again.
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

/// Who reads the messages.
class MailReader {
 public:
  /// How many messages may come now; 0: none.
  [[nodiscard]] virtual std::size_t room() const = 0;
  /// The daemon's answers to `attach` and `recv`.
  virtual void attached(const boost::json::object& answer) = 0;
  virtual void received(const boost::json::object& answer) = 0;
  /// It cannot be served now, and has not been for so long. False: it is not to be tried again. `why` is empty after a
  /// give_back().
  virtual bool lost(const Error& why, std::chrono::milliseconds since) = 0;
  /// Something was told. `all`: of the messages that were acknowledged, each was still ours.
  virtual void told(bool all) = 0;

 protected:
  ~MailReader() = default;
};

class MailStream {
 public:
  struct Settings {
    std::string socket;
    std::string team;  // empty: the only one; from the first answer on that one
    std::string way;
    bool even_busy = false;
    std::string after;  // taken before we began: this message and what was handed out before it
  };

  MailStream(boost::asio::io_context& loop, Settings settings, MailReader& reader);
  void start();

  /// These have arrived. `assumed`: nothing says so.
  void acknowledge(std::vector<std::string> keys, bool assumed = false);
  /// What the lead does: an event of the daemon's table. A later one replaces one that was not told yet; a new daemon
  /// is told the last one again.
  void report(std::string_view event, const std::string& session);
  /// What was taken and not acknowledged goes back to the queue.
  void give_back() { lose({}); }
  /// The reader may have room now.
  void poke() { changed_.cancel(); }

  [[nodiscard]] std::size_t unacknowledged() const;
  /// True when nothing is left to be told, or there is nobody to tell. What was taken is worth waiting for somebody.
  [[nodiscard]] bool settled() const;

  /// One request over this connection; a refusal comes as an error.
  static boost::asio::awaitable<Result<boost::json::object>> exchange(ControlClient client,
                                                                      boost::json::object request);

 private:
  struct Acknowledgement {
    std::vector<std::string> keys;
    bool assumed = false;
    bool told_before = false;  // to a daemon that may have heard it
  };

  [[nodiscard]] bool all_told() const { return told_ && !telling_ && acknowledgements_.empty(); }
  boost::asio::awaitable<void> converse();
  boost::asio::awaitable<Error> serve();
  boost::asio::awaitable<void> tell_all();
  boost::json::object next_to_tell();
  boost::asio::awaitable<void> change();
  void lose(Error why);

  boost::asio::io_context& loop_;
  Settings settings_;
  MailReader& reader_;
  boost::asio::steady_timer changed_;  // who waits for a change waits here; cancelled when there is one

  std::optional<ControlClient> mail_;  // stands at the way; what it was given goes back when it closes
  std::optional<ControlClient> side_;  // for one thing that must not wait behind a waiting recv
  bool stands_ = false;
  bool served_ = false;  // since the last loss
  std::optional<Error> lost_;
  std::size_t most_;  // messages at a time

  std::deque<Acknowledgement> acknowledgements_;
  std::string event_, session_;
  bool told_ = true;  // event_ is
  bool telling_ = false;
};

}  // namespace inbox_poller::poller::cli
