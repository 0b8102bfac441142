#include "poller/cli/web/feed.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "poller/cli/ask_card.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/status_text.hpp"
#include "poller/control/client.hpp"
#include "schema/envelope.hpp"
#include "schema/operations/order.hpp"

namespace inbox_poller::poller::cli::web {

namespace asio = boost::asio;
namespace json = boost::json;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds connecting{2000};
constexpr milliseconds answering{15'000};
constexpr milliseconds longest_wait{10'000};  // for a change; what only the time tells is looked at then
constexpr milliseconds between_looks{200};    // changes that come together are one look
constexpr milliseconds before_retry{1000};
constexpr std::size_t most_samples = 8640;  // a day
constexpr long long sample_every_ms = 10'000;
constexpr int decisions_asked = 200;

/// Lines stay lines; everything else that nobody sees becomes an escape.
std::string visible(std::string_view text) {
  std::string shown = printable_block(text, "");
  if (!text.ends_with('\n') && shown.ends_with('\n')) shown.pop_back();
  return shown;
}

std::string event(std::string_view name, const std::string& data) {
  return "event: " + std::string(name) + "\ndata: " + data + "\n\n";
}

json::object team_row(const operations::Team& team) {
  json::object row{{"key", printable(team.team)},           {"team", printable(team.team)},
                   {"role", printable(team.role)},          {"role_reason", printable(team.role_reason)},
                   {"way", ladder_sentence(team.delivery)}, {"asks", team.asks.pending},
                   {"chat", operations::encode(team.chat)}};
  row["lead"] = json::object{
      {"member", printable(team.lead.member)}, {"state", printable(team.lead.state)}, {"since_ms", team.lead.since_ms}};
  json::array members;
  for (const auto& member : team.members)
    members.push_back(
        fields_of(operations::encode(member), {"member", "doing", "state", "detail", "task", "mode", "answers_reason",
                                               "last_seen_ms", "unread_ms", "pending"}));
  row["members"] = std::move(members);
  json::array trouble;
  for (const std::string& word : team_line(team).trouble) trouble.emplace_back(printable(word));
  row["trouble"] = std::move(trouble);
  return row;
}

json::array numbers(double at, std::initializer_list<double> values) {
  json::array list{at};
  for (const double value : values) list.emplace_back(value);
  return list;
}

}  // namespace

json::object fields_of(const json::object& record, std::initializer_list<std::string_view> names) {
  json::object row;
  for (const auto name : names) {
    const json::value* const found = record.if_contains(name);
    const json::value value = found == nullptr ? json::value("") : *found;
    row[name] = value.is_string() ? json::value(printable(std::string_view(value.get_string()))) : value;
  }
  return row;
}

json::object ask_row(const operations::OpenAsk& ask) {
  json::object row = fields_of(operations::encode(ask), {"team", "kind", "request_id", "member", "subject", "tool",
                                                         "folder", "rule", "asked_ms", "deadline_ms"});
  row["key"] = ask.message_key.bytes;
  row["content"] = ask_content(ask, ask.folder);
  row["why"] = printable(ask.reason);
  row["cannot"] = can_be_answered(ask) ? "" : printable(ask.answers_reason);
  json::array parts;
  for (const auto& part : ask.parts) parts.push_back(fields_of(operations::encode(part), {"part", "rule", "missing"}));
  row["parts"] = std::move(parts);
  return row;
}

json::value shown(const json::value& value) {
  if (value.is_string()) return json::value(visible(value.get_string()));
  if (value.is_array()) {
    json::array list;
    for (const json::value& one : value.get_array()) list.push_back(shown(one));
    return list;
  }
  if (!value.is_object()) return value;
  json::object object;
  for (const auto& [name, member] : value.get_object()) object[visible(name)] = shown(member);
  return object;
}

void Feed::start() {
  asio::co_spawn(loop_, run(), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

std::shared_ptr<Stream> Feed::join() {
  auto page = std::make_shared<Stream>(loop_);
  std::string all = event("daemon", daemon_);
  for (const auto& [kind, rows] : {std::pair{"asks", &asks_}, std::pair{"teams", &teams_}}) {
    std::string list;
    for (const auto& [key, text] : *rows) list += (list.empty() ? "" : ",") + text;
    all += event(kind, R"({"all":true,"put":[)" + list + R"(],"gone":[]})");
  }
  std::string list;
  for (const Sample& one : samples_)
    list += (list.empty() ? "" : ",") +
            json::serialize(numbers(static_cast<double>(one.at_ms), {one.asks, one.oldest_s, one.waited_s, one.chat,
                                                                      one.chat_oldest_s, one.answer_ms}));
  all += event("samples", '[' + list + ']');
  page->push(std::make_shared<const std::string>(std::move(all)));
  std::erase_if(pages_, [](const auto& other) { return other.expired(); });
  pages_.push_back(page);
  return page;
}

asio::awaitable<Result<json::object>> Feed::exchange(Object request) const {
  CO_TRY(const auto path, where_());
  auto client = ControlClient::connect(loop_, path, connecting);
  if (!client) co_return Context::advised(client.error());
  asio::steady_timer limit(loop_, answering);
  limit.async_wait([late = *client](const error_code& stopped) mutable {
    if (!stopped) late.close();
  });
  auto answer = co_await client->ask(std::move(request));
  co_return granted(std::move(answer));
}

asio::awaitable<void> Feed::run() {
  for (;;) {
    co_await wait_for_change();
    co_await look();
  }
}

asio::awaitable<void> Feed::wait_for_change() {
  requests::Changes request;
  request.since = version_;
  if (version_ != 0) request.wait_ms = longest_wait.count();
  auto asking = ask(std::move(request));
  const auto answer = co_await std::move(asking);
  const auto told = answer ? *answer : operations::Changed();
  version_ = told.version;
  // Asks are much to ask for, and time alone does not change them.
  asks_changed_ = asks_changed_ || !answer || !told.changed.empty();
  error_code ignored;
  pause_.expires_after(answer ? between_looks : before_retry);
  co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<void> Feed::look() {
  const auto begun = std::chrono::steady_clock::now();
  auto asking = ask(requests::Status());
  const auto status = co_await std::move(asking);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
  Result<operations::Pending> pending = operations::Pending();
  if (status && asks_changed_) {
    auto asking_asks = ask(requests::Pending());
    pending = co_await std::move(asking_asks);
  }
  const bool up = pending && status;
  const auto told = status ? *status : operations::Status();
  const Object now = up ? Object{{"up", true}, {"version", printable(told.version)}, {"pid", told.pid}}
                        : Object{{"up", false}, {"why", printable((!status ? status.error() : pending.error()).message)}};
  if (std::string text = json::serialize(now); text != daemon_) {
    daemon_ = std::move(text);
    broadcast("daemon", daemon_);
  }
  if (!up) co_return;  // what was known stays, and the page says that it may have changed
  if (asks_changed_) co_await tell_asks(*pending);
  asks_changed_ = false;
  tell_teams(told);
  take_sample(told, took.count());
}

asio::awaitable<void> Feed::tell_asks(const operations::Pending& pending) {
  Rows now;
  std::map<std::string, double> age;
  for (const auto& ask : pending.asks) {
    age[ask.message_key.bytes] = static_cast<double>(ask.asked_ms);
    now[ask.message_key.bytes] = schema::strict_json(ask_row(ask));
  }
  const bool any_gone = std::any_of(asks_.begin(), asks_.end(), [&](const auto& row) { return !now.contains(row.first); });
  std::map<std::string, Object> fates;
  if (any_gone) {
    auto asking = ask(requests::Decisions{.limit = decisions_asked});
    const auto decided = co_await std::move(asking);
    for (const auto& one : (decided ? *decided : operations::Decisions()).decisions) {
      const std::string& key = one.message_key.bytes;
      if (!asks_.contains(key)) continue;
      const double waited = (static_cast<double>(one.decided_ms) - age_of_[key]) / 1000;
      longest_wait_s_ = std::max(longest_wait_s_, waited);
      fates[key] = Object{{"state", printable(one.state)},
                          {"by", printable(one.decided_by)},
                          {"rule", printable(one.rule)},
                          {"reason", printable(one.reason)}};
    }
  }
  age_of_ = std::move(age);
  tell("asks", asks_, std::move(now), fates);
}

void Feed::tell_teams(const operations::Status& status) {
  Rows now;
  for (const auto& team : status.teams) now[printable(team.team)] = schema::strict_json(team_row(team));
  tell("teams", teams_, std::move(now), {});
}

void Feed::tell(std::string_view kind, Rows& known, Rows now, const std::map<std::string, Object>& fates) {
  std::string put;
  json::array gone;
  for (const auto& [key, text] : now)
    if (const auto before = known.find(key); before == known.end() || before->second != text)
      put += (put.empty() ? "" : ",") + text;
  for (const auto& [key, text] : known) {
    if (now.contains(key)) continue;
    const auto fate = fates.find(key);
    Object left = fate == fates.end() ? Object() : fate->second;
    left["key"] = key;
    gone.push_back(std::move(left));
  }
  known = std::move(now);
  if (put.empty() && gone.empty()) return;
  broadcast(kind, R"({"all":false,"put":[)" + put + R"(],"gone":)" + schema::strict_json(gone) + '}');
}

void Feed::take_sample(const operations::Status& status, double answer_ms) {
  const long long now = now_ms();
  if (!samples_.empty() && now - samples_.back().at_ms < sample_every_ms) return;
  Sample sample{.at_ms = now, .waited_s = longest_wait_s_, .answer_ms = answer_ms};
  const auto age = [&](long long since) {
    return since == 0 ? 0.0 : static_cast<double>(std::max(now - since, 0LL)) / 1000;
  };
  for (const auto& team : status.teams) {
    sample.asks += static_cast<double>(team.asks.pending);
    sample.oldest_s = std::max(sample.oldest_s, age(team.asks.oldest_ms));
    sample.chat += static_cast<double>(team.chat.queued);
    sample.chat_oldest_s = std::max(sample.chat_oldest_s, age(team.chat.oldest_queued_ms));
  }
  longest_wait_s_ = 0;
  samples_.push_back(sample);
  if (samples_.size() > most_samples) samples_.pop_front();
  broadcast("sample", json::serialize(numbers(static_cast<double>(now), {sample.asks, sample.oldest_s, sample.waited_s,
                                                                          sample.chat, sample.chat_oldest_s, answer_ms})));
}

void Feed::broadcast(std::string_view name, const std::string& data) {
  const auto text = std::make_shared<const std::string>(event(name, data));
  for (const auto& page : pages_)
    if (const auto open = page.lock()) open->push(text);
}

}  // namespace inbox_poller::poller::cli::web
