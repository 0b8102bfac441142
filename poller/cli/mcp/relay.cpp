#include "poller/cli/mcp/relay.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/cli/mail_stream.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli::mcp {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds most_to_connect{1000};
constexpr std::size_t longest_tool = 200;

/// True for five lower-case letters without l.
bool is_id_of_channel(const std::string& id) {
  return id.size() == 5 && std::all_of(id.begin(), id.end(), [](char c) { return c >= 'a' && c <= 'z' && c != 'l'; });
}

}  // namespace

Relay::Relay(asio::io_context& loop, LeadPlace place, Answer answer, Complain complain)
    : loop_(loop),
      place_(std::move(place)),
      answer_(std::move(answer)),
      complain_(std::move(complain)),
      session_("channel-" + std::to_string(now_ms()) + '-' + std::to_string(::getpid()) + '-') {}

void Relay::asked(const json::object& params) {
  const std::string id = raw_text_of(params, "request_id");
  const std::string tool = raw_text_of(params, "tool_name");
  if (!is_id_of_channel(id) || tool.empty() || tool.size() > longest_tool || open_ >= most_open) return;
  const json::object shown{{"description", raw_text_of(params, "description")},
                           {"preview", raw_text_of(params, "input_preview")}};
  const arguments::Evaluate request{.id = session_ + std::to_string(++count_) + '-' + id,
                                 .tool = tool,
                                 .input = json::serialize(shown),
                                 .wait = true,
                                 .preview = true,
                                 .team = place_.team};
  ++open_;
  auto asking = put_before_person(id, arguments::on_wire(request));
  asio::co_spawn(loop_, std::move(asking), [this](const std::exception_ptr&) { --open_; });
}

asio::awaitable<void> Relay::put_before_person(std::string id, json::object request) {
  auto client = ControlClient::connect(loop_, place_.socket, most_to_connect);
  if (!client) co_return tell(client.error().message);
  auto asking = MailStream::exchange(*client, std::move(request));
  const auto answer = co_await std::move(asking);
  if (!answer) co_return tell(answer.error().message);
  const std::string decision = raw_text_of(*answer, "decision");
  if (!flag_of(*answer, "by_person") || (decision != "allow" && decision != "deny")) co_return;
  if (answer->contains("updated_input"))
    co_return tell("an approval of another input cannot be handed on to a dialog: answer it there");
  answer_({{"request_id", id}, {"behavior", decision}});
}

void Relay::tell(const std::string& why) {
  if (std::exchange(told_, why) != why) complain_("a prompt was not put before a person: " + printable(why));
}

}  // namespace inbox_poller::poller::cli::mcp
