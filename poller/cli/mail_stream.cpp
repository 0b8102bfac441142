#include "poller/cli/mail_stream.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <numeric>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller::cli {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds first_pause{50};
constexpr milliseconds longest_pause{1000};
constexpr milliseconds one_recv = std::chrono::hours(1);
constexpr milliseconds connecting{1000};
constexpr std::size_t most_at_once = 1000;

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

// Each co_await below takes only named values: g++ 12 destroys some temporaries of a co_await expression twice.

MailStream::MailStream(asio::io_context& loop, Settings settings, MailReader& reader)
    : loop_(loop), settings_(std::move(settings)), reader_(reader), changed_(loop, steady_clock::time_point::max()), most_(most_at_once) {}

void MailStream::start() {
  asio::co_spawn(loop_, converse(), rethrow);
  asio::co_spawn(loop_, tell_all(), rethrow);
}

void MailStream::acknowledge(std::vector<std::string> keys, bool assumed) {
  const bool first = acknowledgments_.empty() || (telling_ && acknowledgments_.size() == 1);
  if (!first && acknowledgments_.back().assumed == assumed &&
      acknowledgments_.back().keys.size() + keys.size() <= most_at_once) {
    auto& last = acknowledgments_.back().keys;
    last.insert(last.end(), std::move_iterator(keys.begin()), std::move_iterator(keys.end()));
  } else if (!keys.empty()) {
    acknowledgments_.push_back({std::move(keys), assumed});
  }
  wake();
}

void MailStream::report(std::string_view event, const std::string& session) {
  event_ = event;
  session_ = session;
  told_ = false;
  wake();
}

void MailStream::lose(Error why) {
  if (!mail_ || lost_) return;
  lost_ = std::move(why);
  stands_ = false;
  mail_->close();
  wake();
}

std::size_t MailStream::unacknowledged() const {
  return std::accumulate(acknowledgments_.begin(), acknowledgments_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& one) { return sum + one.keys.size(); });
}

bool MailStream::settled() const { return acknowledgments_.empty() && (!mail_ || all_told()); }

asio::awaitable<void> MailStream::change() {
  boost::system::error_code woken;
  co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

asio::awaitable<Result<json::object>> MailStream::exchange(ControlClient client, json::object request) {
  auto asking = client.ask(std::move(request));
  Result<json::object> answer = co_await std::move(asking);
  co_return granted(std::move(answer));
}

asio::awaitable<void> MailStream::converse() {
  auto lost_at = steady_clock::now();
  milliseconds rest = first_pause;
  for (;;) {
    auto serving = serve();
    Error why = co_await std::move(serving);
    if (lost_) why = *std::exchange(lost_, std::nullopt);
    if (std::exchange(served_, false)) {
      lost_at = steady_clock::now();
      rest = first_pause;
    }
    stands_ = false;
    if (mail_) mail_->close();
    if (side_) side_->close();
    mail_.reset();
    told_ = event_.empty();
    if (!reader_.lost(why, std::chrono::duration_cast<milliseconds>(steady_clock::now() - lost_at))) co_return;
    co_await pause(rest);
    rest = std::min(rest * 2, longest_pause);
  }
}

/// Serves until the connection is lost; returns the reason.
asio::awaitable<Error> MailStream::serve() {
  CO_TRY(auto client, ControlClient::connect(loop_, settings_.socket, connecting));
  mail_ = client;
  arguments::Attach attach;
  attach.team = settings_.team;
  attach.method = settings_.way;
  auto asking = exchange(client, arguments::on_wire(attach));
  auto answer = co_await std::move(asking);
  if (!answer) co_return answer.error();
  stands_ = served_ = true;
  settings_.team = raw_text_of(*answer, "team");  // keeps the team after a restart, even if there are several then
  reader_.attached(*answer);
  wake();
  for (bool watched = false; !lost_;) {
    const std::size_t room = all_told() ? std::min(reader_.room(), most_) : 0;
    if (room == 0) {
      if (!std::exchange(watched, true))
        client.watch([this] { lose({std::string(code::broken), "the daemon closed the connection"}); });
      co_await change();
      continue;
    }
    watched = false;
    const arguments::Recv recv{.team = settings_.team,
                               .max = operations::number_of(room),
                               .wait_ms = one_recv.count(),
                               .ignore_busy = settings_.ignore_busy,
                               .acked = settings_.after};
    asking = exchange(client, arguments::on_wire(recv));
    answer = co_await std::move(asking);
    // If several messages together are too long for an answer, the stream requests them one by one.
    if (!answer && answer.error().code == "answer.too_long" && std::exchange(most_, 1) != 1) co_return Error{};
    if (!answer) co_return answer.error();
    settings_.after.clear();
    if (!objects_of(*answer, "messages").empty()) most_ = most_at_once;
    reader_.received(*answer);
  }
  co_return Error{};
}

json::object MailStream::next_to_tell() {
  if (acknowledgments_.empty()) {
    told_ = true;  // until the next report
    return arguments::on_wire(arguments::Lead{.event = event_, .session = session_, .team = settings_.team});
  }
  const auto& [keys, assumed, before] = acknowledgments_.front();
  return arguments::on_wire(arguments::Ack{keys, assumed, settings_.team});
}

asio::awaitable<void> MailStream::tell_all() {
  for (;;) {
    if (!stands_ || all_told()) {
      co_await change();
      continue;
    }
    const bool acknowledges = !acknowledgments_.empty();
    json::object telling = next_to_tell();
    telling_ = true;
    Result<json::object> answer = Error{};
    if (auto side = ControlClient::connect(loop_, settings_.socket, connecting)) {
      side_ = *side;
      auto asking = exchange(*side, std::move(telling));
      answer = co_await std::move(asking);
      side_.reset();
    } else {
      answer = side.error();
    }
    telling_ = false;
    bool all = true;
    if (!answer) {
      lose(answer.error());
      told_ = event_.empty();
      if (acknowledges) acknowledgments_.front().told_before = true;
      continue;
    }
    if (acknowledges) {
      const auto& [keys, assumed, before] = acknowledgments_.front();
      all = before || number_of(*answer, "acknowledged") >= static_cast<long long>(keys.size());
      acknowledgments_.pop_front();
    }
    reader_.told(all);
    wake();
  }
}

}  // namespace inbox_poller::poller::cli
