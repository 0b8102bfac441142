#include "poller/cli/change_watch.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller::cli {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds one_change_wait = std::chrono::minutes(5);
constexpr milliseconds without_daemon{1000};
constexpr milliseconds to_connect{2000};

}  // namespace

void ChangeWatch::start() {
  asio::co_spawn(loop_, hear(), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

asio::awaitable<void> ChangeWatch::hear() {
  long long version = 0;
  for (;;) {
    auto client = ControlClient::connect(loop_, socket_, to_connect);
    while (client) {
      const requests::Changes request{.since = version, .wait_ms = one_change_wait.count()};
      auto asking = client->ask(requests::on_wire(request));
      const auto answer = co_await std::move(asking);
      if (!answer || !flag_of(*answer, "ok")) break;
      if (const auto now = number_of(*answer, "version"); std::exchange(version, now) != now) changed_();
    }
    changed_();
    co_await pause(without_daemon);
  }
}

}  // namespace inbox_poller::poller::cli
