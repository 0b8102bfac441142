// What the page knows of the daemon, and tells to every browser that has it open: rows of asks and teams as they are
// now, then only what changed. One look serves all of them. Invariant: every text in a row is made visible before it
// leaves (schema/printable.hpp), so that a page shows what would be carried out.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/web/http.hpp"
#include "schema/error.hpp"
#include "schema/operations/requests.hpp"

namespace inbox_poller::poller::cli::web {

class Feed {
 public:
  using Object = boost::json::object;

  /// `where`: the daemon's socket, as it is found now.
  Feed(boost::asio::io_context& loop, std::function<Result<std::string>()> where)
      : loop_(loop), where_(std::move(where)), pause_(loop) {}

  void start();
  /// For one more page: everything there is, then every change.
  std::shared_ptr<Stream> join();
  /// One request over a connection of its own; a refusal comes as an error.
  template <class Request>
  boost::asio::awaitable<Result<typename Request::Answer>> ask(Request request) const {
    auto asking = exchange(requests::on_wire(request));
    CO_TRY(const auto answer, co_await std::move(asking));
    co_return operations::decode<typename Request::Answer>(answer);
  }

 private:
  /// Rows by key, as they were told last.
  using Rows = std::map<std::string, std::string>;
  struct Sample {
    long long at_ms = 0;
    double asks = 0, oldest_s = 0, waited_s = 0, chat = 0, chat_oldest_s = 0, answer_ms = 0;
  };

  boost::asio::awaitable<Result<Object>> exchange(Object request) const;
  boost::asio::awaitable<void> run();
  /// Until the daemon says that something changed, or for a while: time passes, too.
  boost::asio::awaitable<void> wait_for_change();
  boost::asio::awaitable<void> look();
  boost::asio::awaitable<void> tell_asks(const operations::Pending&);
  void tell_teams(const operations::Status& status);
  void take_sample(const operations::Status& status, double answer_ms);
  /// Tells what is new, other or gone of a kind; `fates`: what became of a row that is gone.
  void tell(std::string_view kind, Rows& known, Rows now, const std::map<std::string, Object>& fates);
  void broadcast(std::string_view name, const std::string& json);

  boost::asio::io_context& loop_;
  std::function<Result<std::string>()> where_;
  boost::asio::steady_timer pause_;
  long long version_ = 0;  // that the daemon named last; 0: none yet
  bool asks_changed_ = true;
  Rows asks_, teams_;
  std::map<std::string, double> age_of_;  // of asks that were open: since when, in milliseconds
  std::string daemon_ = R"({"up":false,"why":"nobody has looked yet"})";
  std::deque<Sample> samples_;
  double longest_wait_s_ = 0;  // of those that were decided since the last sample
  std::vector<std::weak_ptr<Stream>> pages_;
};

/// An ask as the page shows it; `key` is what an answer names.
boost::json::object ask_row(const operations::OpenAsk& ask);
/// These fields of a record as the page shows them.
boost::json::object fields_of(const boost::json::object& record, std::initializer_list<std::string_view> names);
/// The same value with every text made visible.
boost::json::value shown(const boost::json::value&);

}  // namespace inbox_poller::poller::cli::web
