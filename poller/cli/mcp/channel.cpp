#include "poller/cli/mcp/channel.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "schema/teammate_message.hpp"

namespace inbox_poller::poller::cli::mcp {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

Channel::Channel(asio::io_context& loop, MailStream::Settings settings, Push push,
                 std::function<void(const std::string&)> complain, milliseconds patience)
    : loop_(loop),
      settings_(std::move(settings)),
      push_(std::move(push)),
      complain_(std::move(complain)),
      patience_(patience),
      timer_(loop) {}

void Channel::start() {
  if (std::exchange(stands_, true)) return streams_.back().wake();
  streams_.emplace_back(loop_, settings_, *this);  // coroutines of an ended stream still refer to it
  streams_.back().start();
}

std::size_t Channel::room() const {
  return !silent() && out_.size() < static_cast<std::size_t>(most_unanswered) ? 1 : 0;
}

void Channel::received(const json::object& answer) {
  for (const json::object* message : objects_of(answer, "messages")) {
    const std::string key = raw_text_of(*message, "message_key");
    out_[key] = steady_clock::now() + patience_;
    push_({{"content", raw_text_of(answer, "block")},
           {"meta", json::object{{"key", key}, {"from", schema::visible(raw_text_of(*message, "from"))}}}});
  }
  watch();
}

/// Acknowledges events as assumed when their time is over.
void Channel::watch() {
  if (out_.empty()) return;
  auto next = out_.begin()->second;
  for (const auto& [key, until] : out_) next = std::min(next, until);
  timer_.expires_at(next);
  timer_.async_wait([this](const boost::system::error_code& problem) {
    if (problem) return;
    const auto now = steady_clock::now();
    for (auto one = out_.begin(); one != out_.end();) {
      if (one->second > now) {
        ++one;
        continue;
      }
      streams_.back().acknowledge({one->first}, true);
      ++unanswered_;
      one = out_.erase(one);
    }
    if (silent() && std::exchange(told_, "silent") != "silent")
      complain_("the session acknowledged none of the last events: nothing is pushed until it calls ack");
    watch();
  });
}

bool Channel::acknowledge(const std::string& key) {
  unanswered_ = 0;
  told_.clear();
  const bool known = out_.erase(key) > 0;
  if (known) streams_.back().acknowledge({key});
  start();
  return known;
}

/// Gives up the delivery method during a pause, once nothing is left to send.
void Channel::told(bool) {
  if (silent() && out_.empty() && streams_.back().unacknowledged() == 0) streams_.back().requeue();
}

/// Retries unless the channel pauses. Events that were pushed may come again through another delivery method.
bool Channel::lost(const Error& why, milliseconds) {
  out_.clear();
  if (silent()) stands_ = false;
  if (silent()) return false;
  if (!why.message.empty() && std::exchange(told_, why.message) != why.message)
    complain_(printable(why.message) + "; events wait for a daemon");
  return true;
}

}  // namespace inbox_poller::poller::cli::mcp
