// What a command that stays knows of the daemon, as it is now: what was asked for, kept up to date by the verb `changes`,
// and whether anybody answers. Front ends draw it, and nothing else. A daemon that goes away is looked for every second;
// what was known before stays.
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
#include "schema/operations/requests.hpp"

namespace inbox_poller::poller::cli {

/// A part of it, as one request tells it.
enum class Part { asks, status, chat, decisions };
inline constexpr std::size_t all_parts = 4;

struct Known {
  operations::Pending asks;
  operations::Status status;
  operations::History chat;
  operations::Decisions decisions;
};

class DaemonModel {
 public:
  struct Settings {
    std::function<Result<std::string>()> where;  // the daemon's socket, as it is found now
    std::string team = {};                       // empty: all
    std::chrono::milliseconds look_every{5000};               // at what only the time changes
    long long most_rows = 200;                   // of chat and of decisions
  };
  /// Parts that have just come; none: the daemon does not answer, or does again.
  using Changed = std::function<boost::asio::awaitable<void>(const std::vector<Part>&)>;

  /// `changed` is called after each look, and looks wait for it.
  DaemonModel(boost::asio::io_context& loop, Settings settings, Changed changed)
      : loop_(loop), settings_(std::move(settings)), changed_(std::move(changed)), wake_(loop) {}

  /// Until the loop ends.
  void start();
  /// From now on these are kept; what was not kept before is looked at now.
  void watch(const std::vector<Part>&);
  /// All that is kept is looked at now.
  void refresh();

  [[nodiscard]] const Known& known() const { return known_; }
  /// Why the daemon does not answer; empty while it does.
  [[nodiscard]] const std::optional<Error>& away() const { return away_; }
  /// How long the last answer to `status` took.
  [[nodiscard]] std::chrono::duration<double, std::milli> status_took() const { return status_took_; }

  /// One request over a connection of its own; a refusal comes as an error.
  template <class Request>
  boost::asio::awaitable<Result<typename Request::Answer>> ask(Request request) const {
    auto asking = exchange(requests::on_wire(request));
    CO_TRY(const auto answer, co_await std::move(asking));
    co_return operations::decode<typename Request::Answer>(answer);
  }
  boost::asio::awaitable<Result<boost::json::object>> exchange(boost::json::object request) const;

 private:
  struct Keeping {
    bool wanted = false, stale = false;
  };

  Keeping& keeping(Part part) { return keeping_[static_cast<std::size_t>(part)]; }
  /// Hears what has changed.
  boost::asio::awaitable<void> hear();
  boost::asio::awaitable<void> look();
  boost::asio::awaitable<Status> fetch(Part);
  template <class Request>
  boost::asio::awaitable<Status> fetch(Request request, typename Request::Answer& into);

  boost::asio::io_context& loop_;
  const Settings settings_;
  const Changed changed_;
  boost::asio::steady_timer wake_;  // who looks waits here; cancelled when there is something to look at
  std::array<Keeping, all_parts> keeping_;
  Known known_;
  std::optional<Error> away_ = Error{"control.no_daemon", "nobody has looked yet"};
  std::chrono::duration<double, std::milli> status_took_{};
};

}  // namespace inbox_poller::poller::cli
