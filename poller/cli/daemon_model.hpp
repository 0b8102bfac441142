// The daemon's state in memory, for commands that stay: the parts wanted, kept up to date by the verb `changes`. Front
// ends only draw the model. A lost daemon is retried every second; the last known state stays.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schema/error.hpp"
#include "schema/operations/verb_arguments.hpp"

namespace inbox_poller::poller::cli {

/// A part of the state, as one request returns it.
enum class Part { requests, status, chat, decisions };
inline constexpr std::size_t all_parts = 4;

struct Known {
  operations::Pending requests;
  operations::Status status;
  operations::History chat;
  operations::Decisions decisions;
};

class DaemonModel {
 public:
  struct Settings {
    std::function<Result<std::string>()> where;  // finds the daemon's socket at each call
    std::string team = {};                       // empty: all
    std::chrono::milliseconds look_every{5000};               // for changes that only time causes
    long long most_rows = 200;                   // limit for chat and for decisions
  };
  /// Receives the parts that were just fetched. An empty list: a request failed.
  using Changed = std::function<boost::asio::awaitable<void>(const std::vector<Part>&)>;

  /// Calls `changed` after each fetch; the next fetch waits until it returns.
  DaemonModel(boost::asio::io_context& loop, Settings settings, Changed changed)
      : loop_(loop), settings_(std::move(settings)), changed_(std::move(changed)), wake_(loop) {}

  /// Starts both coroutines, which run until the loop ends.
  void start();
  /// Sets the parts to keep up to date. Parts that were not kept before are fetched now.
  void watch(const std::vector<Part>&);
  /// Fetches all kept parts now.
  void refresh();

  [[nodiscard]] const Known& known() const { return known_; }
  /// The reason why the daemon does not answer; empty while it does.
  [[nodiscard]] const std::optional<Error>& away() const { return away_; }
  /// Duration of the last successful `status` request.
  [[nodiscard]] std::chrono::duration<double, std::milli> status_took() const { return status_took_; }

  /// Sends one request on a connection of its own. An error of the daemon is returned with the daemon's code.
  template <class Request>
  boost::asio::awaitable<Result<typename Request::Answer>> ask(Request request) const {
    auto asking = exchange(arguments::on_wire(request));
    CO_TRY(const auto answer, co_await std::move(asking));
    co_return operations::decode<typename Request::Answer>(answer);
  }
  boost::asio::awaitable<Result<boost::json::object>> exchange(boost::json::object request) const;

 private:
  struct Keeping {
    bool wanted = false, stale = false;
  };

  Keeping& keeping(Part part) { return keeping_[static_cast<std::size_t>(part)]; }
  /// Waits for changes and marks the affected parts stale.
  boost::asio::awaitable<void> hear();
  boost::asio::awaitable<void> look();
  boost::asio::awaitable<Status> fetch(Part);
  template <class Request>
  boost::asio::awaitable<Status> fetch(Request request, typename Request::Answer& into);

  boost::asio::io_context& loop_;
  const Settings settings_;
  const Changed changed_;
  boost::asio::steady_timer wake_;  // the fetching coroutine waits here; canceled when a part is stale
  std::array<Keeping, all_parts> keeping_;
  Known known_;
  std::optional<Error> away_ = Error{"control.no_daemon", "not asked yet"};
  std::chrono::duration<double, std::milli> status_took_{};
};

}  // namespace inbox_poller::poller::cli
