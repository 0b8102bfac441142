#include "poller/cli/web/feed.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/request_card.hpp"
#include "poller/cli/status_text.hpp"
#include "schema/envelope.hpp"
#include "schema/operations/order.hpp"

namespace inbox_poller::poller::cli::web {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds longest_wait{10'000};  // after it, parts that depend on time are fetched again
constexpr std::size_t most_samples = 8640;  // a day
constexpr long long sample_every_ms = 10'000;
constexpr int decisions_asked = 200;

/// Keeps line breaks; all other invisible characters become escapes.
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
                   {"way", methods_sentence(team.delivery)}, {"requests", team.requests.pending},
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
  long long decided = 0;
  for (const auto& one : team.counted.decisions) decided += one.count;
  row["decided"] = decided;  // tells the page when to ask for decisions again
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

json::object request_row(const operations::OpenRequest& request) {
  json::object row = fields_of(operations::encode(request), {"team", "kind", "request_id", "member", "subject", "tool",
                                                             "folder", "rule", "asked_ms", "deadline_ms"});
  row["key"] = request.message_key.bytes;
  row["content"] = request_content(request, request.folder);
  row["why"] = printable(request.reason);
  row["cannot"] = can_be_answered(request) ? "" : printable(request.answers_reason);
  json::array parts;
  for (const auto& part : request.parts)
    parts.push_back(fields_of(operations::encode(part), {"part", "rule", "missing"}));
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

ChangeFeed::ChangeFeed(asio::io_context& loop, std::function<Result<std::string>()> where)
    : loop_(loop),
      model_(loop, {.where = std::move(where), .look_every = longest_wait}, [this](const auto& fresh) { return changed(fresh); }) {
  model_.watch({Part::requests, Part::status});
}

std::shared_ptr<Stream> ChangeFeed::join() {
  auto page = std::make_shared<Stream>(loop_);
  std::string all = event("daemon", daemon_);
  for (const auto& [kind, rows] : {std::pair{"requests", &requests_}, std::pair{"teams", &teams_}}) {
    std::string list;
    for (const auto& [key, text] : *rows) list += (list.empty() ? "" : ",") + text;
    all += event(kind, R"({"all":true,"put":[)" + list + R"(],"gone":[]})");
  }
  std::string list;
  for (const Sample& one : samples_)
    list += (list.empty() ? "" : ",") +
            json::serialize(numbers(static_cast<double>(one.at_ms), {one.requests, one.oldest_s, one.waited_s, one.chat,
                                                                      one.chat_oldest_s, one.answer_ms}));
  all += event("samples", '[' + list + ']');
  page->push(std::make_shared<const std::string>(std::move(all)));
  std::erase_if(pages_, [](const auto& other) { return other.expired(); });
  pages_.push_back(page);
  return page;
}

asio::awaitable<void> ChangeFeed::changed(const std::vector<Part>& fresh) {
  const auto& [requests, status, chat, decisions] = model_.known();
  const auto& away = model_.away();
  const Object now = away ? Object{{"up", false}, {"why", printable(away->message)}}
                          : Object{{"up", true}, {"version", printable(status.version)}, {"pid", status.pid}};
  if (std::string text = json::serialize(now); text != daemon_) {
    daemon_ = std::move(text);
    broadcast("daemon", daemon_);
  }
  const auto came = [&](Part part) { return std::ranges::find(fresh, part) != fresh.end(); };
  if (came(Part::requests)) {
    auto telling = tell_requests(requests);
    co_await std::move(telling);
  }
  if (!came(Part::status)) co_return;
  tell_teams(status);
  take_sample(status, model_.status_took().count());
}

asio::awaitable<void> ChangeFeed::tell_requests(const operations::Pending& pending) {
  Rows now;
  std::map<std::string, double> age;
  for (const auto& request : pending.requests) {
    age[request.message_key.bytes] = static_cast<double>(request.asked_ms);
    now[request.message_key.bytes] = schema::strict_json(request_row(request));
  }
  const bool any_gone = std::any_of(requests_.begin(), requests_.end(), [&](const auto& row) { return !now.contains(row.first); });
  std::map<std::string, Object> outcomes;
  if (any_gone) {
    auto asking = model_.ask(arguments::Decisions{.limit = decisions_asked});
    const auto decided = co_await std::move(asking);
    for (const auto& one : (decided ? *decided : operations::Decisions()).decisions) {
      const std::string& key = one.message_key.bytes;
      if (!requests_.contains(key)) continue;
      const double waited = (static_cast<double>(one.decided_ms) - age_of_[key]) / 1000;
      longest_wait_s_ = std::max(longest_wait_s_, waited);
      outcomes[key] = Object{{"state", printable(one.state)},
                          {"by", printable(one.decided_by)},
                          {"rule", printable(one.rule)},
                          {"reason", printable(one.reason)}};
    }
  }
  age_of_ = std::move(age);
  tell("requests", requests_, std::move(now), outcomes);
}

void ChangeFeed::tell_teams(const operations::Status& status) {
  Rows now;
  for (const auto& team : status.teams) now[printable(team.team)] = schema::strict_json(team_row(team));
  tell("teams", teams_, std::move(now), {});
}

void ChangeFeed::tell(std::string_view kind, Rows& known, Rows now, const std::map<std::string, Object>& outcomes) {
  std::string put;
  json::array gone;
  for (const auto& [key, text] : now)
    if (const auto before = known.find(key); before == known.end() || before->second != text)
      put += (put.empty() ? "" : ",") + text;
  for (const auto& [key, text] : known) {
    if (now.contains(key)) continue;
    const auto outcome = outcomes.find(key);
    Object left = outcome == outcomes.end() ? Object() : outcome->second;
    left["key"] = key;
    gone.push_back(std::move(left));
  }
  known = std::move(now);
  if (put.empty() && gone.empty()) return;
  broadcast(kind, R"({"all":false,"put":[)" + put + R"(],"gone":)" + schema::strict_json(gone) + '}');
}

void ChangeFeed::take_sample(const operations::Status& status, double answer_ms) {
  const long long now = now_ms();
  if (!samples_.empty() && now - samples_.back().at_ms < sample_every_ms) return;
  Sample sample{.at_ms = now, .waited_s = longest_wait_s_, .answer_ms = answer_ms};
  const auto age = [&](long long since) {
    return since == 0 ? 0.0 : static_cast<double>(std::max(now - since, 0LL)) / 1000;
  };
  for (const auto& team : status.teams) {
    sample.requests += static_cast<double>(team.requests.pending);
    sample.oldest_s = std::max(sample.oldest_s, age(team.requests.oldest_ms));
    sample.chat += static_cast<double>(team.chat.queued);
    sample.chat_oldest_s = std::max(sample.chat_oldest_s, age(team.chat.oldest_queued_ms));
  }
  longest_wait_s_ = 0;
  samples_.push_back(sample);
  if (samples_.size() > most_samples) samples_.pop_front();
  broadcast("sample", json::serialize(numbers(static_cast<double>(now), {sample.requests, sample.oldest_s, sample.waited_s,
                                                                          sample.chat, sample.chat_oldest_s, answer_ms})));
}

void ChangeFeed::broadcast(std::string_view name, const std::string& data) {
  const auto text = std::make_shared<const std::string>(event(name, data));
  for (const auto& page : pages_)
    if (const auto open = page.lock()) open->push(text);
}

}  // namespace inbox_poller::poller::cli::web
