// The page's data, sent to every open browser: first all rows of requests and teams, then only changes. One model
// serves all browsers. Invariant: every text in a row is made visible before it is sent (schema/printable.hpp), so that
// a page shows what would run.
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

class ChangeFeed {
 public:
  using Object = boost::json::object;

  /// Creates a feed. `where`: finds the daemon's socket at each call.
  ChangeFeed(boost::asio::io_context& loop, std::function<Result<std::string>()> where);

  void start() { model_.start(); }
  /// Adds a page, which gets all rows, then every change.
  std::shared_ptr<Stream> join();
  [[nodiscard]] const DaemonModel& model() const { return model_; }

 private:
  /// Rows by key, as last sent.
  using Rows = std::map<std::string, std::string>;
  struct Sample {
    long long at_ms = 0;
    double requests = 0, oldest_s = 0, waited_s = 0, chat = 0, chat_oldest_s = 0, answer_ms = 0;
  };

  boost::asio::awaitable<void> changed(const std::vector<Part>& fresh);
  boost::asio::awaitable<void> tell_requests(const operations::Pending&);
  void tell_teams(const operations::Status& status);
  void take_sample(const operations::Status& status, double answer_ms);
  /// Sends the new, changed and removed rows of a kind. `fates`: the outcomes of removed rows.
  void tell(std::string_view kind, Rows& known, Rows now, const std::map<std::string, Object>& outcomes);
  void broadcast(std::string_view name, const std::string& json);

  boost::asio::io_context& loop_;
  DaemonModel model_;
  Rows requests_, teams_;
  std::map<std::string, double> age_of_;  // arrival of open requests by key, Unix epoch in milliseconds
  std::string daemon_ = R"({"up":false,"why":"not asked yet"})";
  std::deque<Sample> samples_;
  double longest_wait_s_ = 0;  // of requests decided since the last sample
  std::vector<std::weak_ptr<Stream>> pages_;
};

/// Formats a request for the page; a decision names its `key`.
boost::json::object request_row(const operations::OpenRequest& request);
/// Returns these fields of a record for the page; an absent one as an empty text.
boost::json::object fields_of(const boost::json::object& record, std::initializer_list<std::string_view> names);
/// Makes every text in a value visible.
boost::json::value shown(const boost::json::value&);

}  // namespace inbox_poller::poller::cli::web
