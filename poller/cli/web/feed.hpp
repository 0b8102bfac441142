// What the page knows of the daemon, and tells to every browser that has it open: rows of asks and teams as they are
// now, then only what changed. One look serves all of them. Invariant: every text in a row is made visible before it
// leaves (schema/printable.hpp), so that a page shows what would be carried out.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
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

#include "poller/cli/daemon_model.hpp"
#include "poller/cli/web/http.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller::cli::web {

class Feed {
 public:
  using Object = boost::json::object;

  /// `where`: the daemon's socket, as it is found now.
  Feed(boost::asio::io_context& loop, std::function<Result<std::string>()> where);

  void start() { model_.start(); }
  /// For one more page: everything there is, then every change.
  std::shared_ptr<Stream> join();
  [[nodiscard]] const DaemonModel& model() const { return model_; }

 private:
  /// Rows by key, as they were told last.
  using Rows = std::map<std::string, std::string>;
  struct Sample {
    long long at_ms = 0;
    double asks = 0, oldest_s = 0, waited_s = 0, chat = 0, chat_oldest_s = 0, answer_ms = 0;
  };

  boost::asio::awaitable<void> changed(const std::vector<Part>& fresh);
  boost::asio::awaitable<void> tell_asks(const operations::Pending&);
  void tell_teams(const operations::Status& status);
  void take_sample(const operations::Status& status, double answer_ms);
  /// Tells what is new, other or gone of a kind; `fates`: what became of a row that is gone.
  void tell(std::string_view kind, Rows& known, Rows now, const std::map<std::string, Object>& fates);
  void broadcast(std::string_view name, const std::string& json);

  boost::asio::io_context& loop_;
  DaemonModel model_;
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
