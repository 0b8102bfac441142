// The page's routes: files, the stream of rows, decisions, and queries. The daemon decides; only sessions are kept
// here.
#pragma once

#include <functional>
#include <string>

#include "poller/cli/web/feed.hpp"
#include "poller/cli/web/gate.hpp"
#include "poller/cli/web/http.hpp"

namespace inbox_poller::poller::cli::web {

class Site {
 public:
  /// Builds the site. `by`: who decides here, for the record. `let_in`: called after a token opened a session.
  Site(ChangeFeed& feed, Gate gate, Sessions& sessions, std::string by, std::function<void()> let_in)
      : feed_(feed), gate_(std::move(gate)), sessions_(sessions), by_(std::move(by)), let_in_(std::move(let_in)) {}

  boost::asio::awaitable<Reply> answer(Request);
  /// True for a request with an open session.
  [[nodiscard]] bool has_session(const Request& request) const { return sessions_.knows(request.cookie); }

 private:
  using Object = boost::json::object;

  using Answer = boost::asio::awaitable<Reply>;
  struct Route {
    std::string_view method, path;
    Answer (Site::*run)(Request);
  };
  static const Route routes[];

  Answer open_session(Request);
  Answer decide(Request);
  template <class Verdict>
  Answer send_answer(Verdict answer) const;
  Answer events(Request);
  Answer rule(Request);
  Answer trace(Request);
  Answer history(Request);
  Answer decisions(Request);
  Answer healthy(Request);
  Answer ready(Request);
  Answer metrics(Request);
  template <class Text>
  Answer of_status(Text text) const;

  ChangeFeed& feed_;
  Gate gate_;
  Sessions& sessions_;
  std::string by_;
  std::function<void()> let_in_;
};

}  // namespace inbox_poller::poller::cli::web
