#include "poller/cli/daemon_model.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/control/client.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller::cli {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds to_connect{2000};
constexpr milliseconds to_answer{15'000};
constexpr milliseconds one_change_wait{10'000};
constexpr milliseconds between_changes{100};  // changes within this time are fetched together
constexpr milliseconds without_daemon{1000};

/// The area of `changes` that affects a part; parts that are not listed depend on all areas and on time.
constexpr std::pair<Part, std::string_view> area_of[] = {{Part::requests, "requests"}, {Part::chat, "chat"}, {Part::decisions, "requests"}};

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

bool is_touched(Part part, const operations::Changed& told) {
  const auto* row = std::ranges::find(area_of, part, &std::pair<Part, std::string_view>::first);
  if (row == std::end(area_of)) return !told.changed.empty();
  return std::ranges::any_of(told.changed, [&](const auto& area) { return area == row->second; });
}

}  // namespace

void DaemonModel::start() {
  asio::co_spawn(loop_, hear(), rethrow);
  asio::co_spawn(loop_, look(), rethrow);
}

void DaemonModel::watch(const std::vector<Part>& parts) {
  for (std::size_t i = 0; i < all_parts; ++i) {
    const bool wanted = std::ranges::find(parts, static_cast<Part>(i)) != parts.end();
    keeping_[i].stale = wanted && (keeping_[i].stale || !keeping_[i].wanted);
    keeping_[i].wanted = wanted;
  }
  wake_.cancel();
}

void DaemonModel::refresh() {
  for (Keeping& one : keeping_) one.stale = one.wanted;
  wake_.cancel();
}

asio::awaitable<Result<json::object>> DaemonModel::exchange(json::object request) const {
  if (!settings_.team.empty() && !request.contains("team")) request["team"] = settings_.team;
  CO_TRY(const auto path, settings_.where());
  auto client = ControlClient::connect(loop_, path, to_connect);
  if (!client) co_return Context::advised(client.error());
  asio::steady_timer limit(loop_, one_change_wait + to_answer);
  limit.async_wait([late = *client](const boost::system::error_code& stopped) mutable {
    if (!stopped) late.close();
  });
  auto asking = client->ask(std::move(request));
  auto answer = co_await std::move(asking);
  co_return granted(std::move(answer));
}

asio::awaitable<void> DaemonModel::hear() {
  arguments::Changes request;
  for (;;) {
    auto asking = ask(request);
    const auto told = co_await std::move(asking);
    for (std::size_t i = 0; i < all_parts; ++i)
      if (keeping_[i].wanted && (!told || is_touched(static_cast<Part>(i), *told))) keeping_[i].stale = true;
    request = {.since = told ? told->version : 0, .wait_ms = told ? one_change_wait.count() : 0};
    if (!told || !told->changed.empty()) wake_.cancel();  // also without a daemon, so that the fetch finds the reason
    co_await pause(told ? between_changes : without_daemon);
  }
}

template <class Request>
asio::awaitable<Status> DaemonModel::fetch(Request request, typename Request::Answer& into) {
  auto asking = ask(std::move(request));
  CO_TRY(into, co_await std::move(asking));
  co_return Done{};
}

asio::awaitable<Status> DaemonModel::fetch(Part part) {
  switch (part) {
    case Part::requests: return fetch(arguments::Pending(), known_.requests);
    case Part::status: return fetch(arguments::Status(), known_.status);
    case Part::chat: return fetch(arguments::History{.limit = settings_.most_rows}, known_.chat);
    case Part::decisions: break;
  }
  return fetch(arguments::Decisions{.limit = settings_.most_rows}, known_.decisions);
}

asio::awaitable<void> DaemonModel::look() {
  for (auto due = steady_clock::now();;) {
    if (steady_clock::now() >= due) {
      keeping(Part::status).stale = keeping(Part::status).wanted;
      due = steady_clock::now() + settings_.look_every;
    }
    std::vector<Part> fresh;
    std::optional<Error> away;
    for (std::size_t i = 0; i < all_parts && !away; ++i) {
      if (!std::exchange(keeping_[i].stale, false)) continue;
      const auto begun = steady_clock::now();
      auto fetching = fetch(static_cast<Part>(i));
      if (const Status got = co_await std::move(fetching); !got) {
        away = got.error();
        keeping_[i].stale = true;
      } else {
        fresh.push_back(static_cast<Part>(i));
        if (static_cast<Part>(i) == Part::status) status_took_ = steady_clock::now() - begun;
      }
    }
    if (away || !fresh.empty()) {
      away_ = std::move(away);
      auto telling = changed_(fresh);
      co_await std::move(telling);
    }
    const bool more = !away_ && std::ranges::any_of(keeping_, &Keeping::stale);
    if (more) continue;
    boost::system::error_code woken;
    wake_.expires_at(away_ ? steady_clock::now() + without_daemon : due);
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

}  // namespace inbox_poller::poller::cli
