#include "poller/cli/lead_run/judge.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/cli/mail_stream.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller::cli {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::size_t most_at_once = 16;  // connections; the daemon accepts 64
constexpr std::chrono::milliseconds between_attempts{1000};

/// True for errors that a retry may avoid.
bool may_be_judged_later(std::string_view code) {
  return code.starts_with("control.") || code.starts_with("ledger.") || code.starts_with("team.") ||
         code.starts_with("io.");
}

}  // namespace

ToolJudge::ToolJudge(asio::io_context& loop, std::string socket, Tell tell)
    : loop_(loop),
      socket_(std::move(socket)),
      tell_(std::move(tell)),
      changed_(loop, std::chrono::steady_clock::time_point::max()) {}

void ToolJudge::judge(JudgedCall call) {
  auto judging = std::make_shared<Judging>(Judging{std::move(call), {}});
  if (!judging_.try_emplace(judging->call.id, judging).second) return;
  asio::co_spawn(loop_, see_to(judging), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

void ToolJudge::withdraw(const std::string& id) {
  const auto found = judging_.find(id);
  if (found == judging_.end()) return;
  found->second->over = true;
  if (found->second->client) found->second->client->close();
  judging_.erase(found);
  changed_.cancel();
}

void ToolJudge::withdraw_all() {
  while (!judging_.empty()) withdraw(std::string(judging_.begin()->first));
}

void ToolJudge::served(const std::string& team, bool permissions) {
  team_ = team;
  serves_ = permissions;
  if (!permissions) withdraw_all();
  changed_.cancel();
}

asio::awaitable<void> ToolJudge::change() {
  boost::system::error_code woken;
  co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

asio::awaitable<void> ToolJudge::see_to(std::shared_ptr<Judging> judging) {
  while (!judging->over) {
    if (!serves_ || asked_ >= most_at_once) {
      co_await change();
      continue;
    }
    if (auto client = ControlClient::connect(loop_, socket_, between_attempts)) {
      const arguments::Evaluate request{.id = judging->call.id,
                                     .tool = judging->call.tool,
                                     .input = judging->call.input,
                                     .cwd = judging->call.cwd,
                                     .wait = true,
                                     .team = team_};
      judging->client = *client;
      ++asked_;
      auto asking = MailStream::exchange(*client, arguments::on_wire(request));
      const Result<json::object> answer = co_await std::move(asking);
      --asked_;
      judging->client.reset();
      changed_.cancel();
      if (!judging->over) judged(*judging, answer);
    }
    if (!judging->over) co_await pause(between_attempts);
  }
}

void ToolJudge::judged(Judging& judging, const Result<json::object>& answer) {
  const JudgedCall& call = judging.call;
  if (!answer) {
    const Error& why = answer.error();
    if (may_be_judged_later(why.code)) return;  // retried when a daemon serves again
    const bool sent = why.code != code::request_too_long;
    return end(judging, {call.id, false, {}, (sent ? "The call could not be judged: " : "The call could not be put before the rules: ") + why.message});
  }
  const auto decision = raw_text_of(*answer, "decision");
  const auto reason = raw_text_of(*answer, "reason");
  const auto updated = raw_text_of(*answer, "updated_input");
  if (decision == "deny") return end(judging, {call.id, false, {}, reason.empty() ? "Denied" : reason});
  if (decision == "allow") return end(judging, {call.id, true, updated.empty() ? call.input : updated, {}});
  withdraw(std::string(call.id));  // "ask": others answer
}

void ToolJudge::end(Judging& judging, const Judgment& judgment) {
  withdraw(std::string(judging.call.id));
  tell_(judgment);
}

}  // namespace inbox_poller::poller::cli
