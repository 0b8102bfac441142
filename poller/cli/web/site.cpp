#include "poller/cli/web/site.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/metrics.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/status_text.hpp"
#include "poller/cli/web/files.hpp"
#include "schema/envelope.hpp"

namespace inbox_poller::poller::cli::web {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr int messages_shown = 100;
constexpr int decisions_shown = 100;

Reply reply(unsigned status, const json::object& object) {
  Reply made;
  made.status = status;
  made.text = std::make_shared<const std::string>(schema::strict_json(object));
  return made;
}

Reply plain(unsigned status, std::string text) {
  Reply made;
  made.status = status;
  made.type = "text/plain; charset=utf-8";
  made.text = std::make_shared<const std::string>(std::move(text));
  return made;
}

Reply refusal(unsigned status, std::string_view code, std::string_view why) {
  return reply(status, {{"ok", false}, {"code", code}, {"message", printable(why)}});
}

/// 409: somebody else was faster, or it is another ask by now. 503: the daemon is away. Otherwise it is refused.
Reply refusal(const Error& error) {
  static constexpr std::string_view conflicts[] = {"request.already_decided", "request.changed", "request.unknown",
                                                   "request.not_applicable", "request.ambiguous"};
  const bool is_late = std::find(std::begin(conflicts), std::end(conflicts), error.code) != std::end(conflicts);
  const bool is_away = error.code == code::no_daemon || error.code == code::timeout || error.code == code::broken;
  return refusal(is_late ? 409 : is_away ? 503 : 422, error.code, error.message);
}

const File* file_of(std::string_view path) {
  for (const File& file : files())
    if (file.path == path) return &file;
  return nullptr;
}

/// One ask of one team, as it was shown. `given` is what the page says.
void name_ask(requests::Verdict& answer, const json::object& given) {
  const std::string key = raw_text_of(given, "key");
  answer.ids = {key};
  answer.message_key = key;
  answer.team = raw_text_of(given, "team");
  answer.kind = raw_text_of(given, "kind");
}

json::object message_row(const operations::SaidMessage& message) {
  json::object row = fields_of(operations::encode(message), {"message_key", "sender", "inbox", "type", "delivery",
                                                             "disposition", "subject", "received_ms", "is_cut"});
  row["sentence"] = message_sentence(message);
  row["text"] = shown(json::value(message.text.bytes));
  return row;
}

json::object decision_row(const operations::Ask& ask) {
  json::object row = ask_row({ask, {}, {}, {}, {}, {}});
  for (const auto& [name, value] : fields_of(operations::encode(ask), {"state", "decided_by", "reason", "decided_ms"}))
    row[name] = value;
  row.erase("content");
  return row;
}

}  // namespace

asio::awaitable<Reply> Site::answer(Request request) {
  const bool has_session = sessions_.knows(request.cookie);
  const Visit visit{request.method,     request.path,       request.host,         request.origin, request.fetch_site,
                    request.fetch_mode, request.fetch_dest, request.content_type, has_session};
  if (const auto refused = gate_.refuse(visit)) co_return refusal(refused->status, "web.refused", refused->why);
  const std::string path = request.path;
  if (request.method == "POST") {
    if (path == "/api/session") co_return open_session(request);
    if (path == "/api/answer") co_return co_await decide(std::move(request));
    co_return refusal(404, "web.unknown", "there is nothing to send to under this address");
  }
  if (const File* file = file_of(path)) {
    Reply made;
    made.type = std::string(file->type);
    made.text = std::make_shared<const std::string>(file->text);
    co_return made;
  }
  if (path == "/api/events") {
    Reply made;
    made.stream = feed_.join();
    co_return made;
  }
  if (path == "/metrics" || path == "/healthz" || path == "/readyz") co_return co_await report(path);
  if (path.starts_with("/api/")) co_return co_await look_up(std::move(request));
  co_return refusal(404, "web.unknown", "there is no such page");
}

Reply Site::open_session(const Request& request) {
  const auto cookie = sessions_.open(request.token);
  if (!cookie) return refusal(403, "web.token", "this link was used before, or is of an earlier start: `inbox-poller web --link` gives one");
  let_in_();
  Reply made = reply(200, {{"ok", true}});
  made.set_cookie = *cookie;
  return made;
}

asio::awaitable<Reply> Site::decide(Request request) {
  json::error_code bad;
  const json::value body = json::parse(request.body, bad);
  const Object given = !bad && body.is_object() ? body.get_object() : Object();
  const std::string verdict = raw_text_of(given, "verdict");
  const std::string words = raw_text_of(given, "reason");
  const bool approves = verdict == requests::Approve::verb;
  if (raw_text_of(given, "key").empty() || raw_text_of(given, "team").empty() ||
      !(approves || verdict == requests::Deny::verb))
    co_return refusal(400, "request.invalid", "an answer names `key`, `team` and `verdict`: approve or deny");
  if (!approves && words.empty())
    co_return refusal(400, "request.invalid", "a denial says why: the worker reads it");
  if (approves) {
    requests::Approve answer;
    name_ask(answer, given);
    answer.note = words;
    if (const std::string rule = raw_text_of(given, "rule"); !rule.empty()) {
      auto asking = feed_.model().ask(requests::Which{.like = answer.message_key, .team = answer.team, .kind = answer.kind});
      const auto made = co_await std::move(asking);
      if (!made) co_return refusal(made.error());
      if (const auto now = printable(made->rule); now != rule)
        co_return refusal(409, "request.changed", "the rule would be another one by now: " + now);
      answer.always = true;
    }
    auto answering = send_answer(std::move(answer));
    co_return co_await std::move(answering);
  }
  requests::Deny answer;
  name_ask(answer, given);
  answer.reason = words;
  auto answering = send_answer(std::move(answer));
  co_return co_await std::move(answering);
}

template <class Verdict>
asio::awaitable<Reply> Site::send_answer(Verdict answer) const {
  answer.by = by_;
  auto asking = feed_.model().ask(std::move(answer));
  const auto outcomes = co_await std::move(asking);
  if (!outcomes) co_return refusal(outcomes.error());
  const auto taken = the_one(*outcomes);
  if (!taken) co_return refusal(taken.error());
  Object told = fields_of(operations::encode(*taken), {"state", "subject", "member", "rule_added"});
  told["ok"] = true;
  co_return reply(200, told);
}

asio::awaitable<Reply> Site::look_up(Request request) const {
  const std::string id = from_query(request.query, "id");
  const std::string team = from_query(request.query, "team");
  if (request.path == "/api/rule") {
    auto asking = feed_.model().ask(requests::Which{.like = id, .team = team, .kind = from_query(request.query, "kind")});
    const auto made = co_await std::move(asking);
    if (!made) co_return refusal(made.error());
    json::array subjects;
    for (const auto& ask : made->asks) subjects.emplace_back(printable(ask.subject));
    co_return reply(200, {{"ok", true}, {"rule", printable(made->rule)}, {"covers", std::move(subjects)}});
  }
  if (request.path == "/api/trace") {
    auto asking = feed_.model().ask(requests::Trace{.id = id});
    const auto traced = co_await std::move(asking);
    if (!traced) co_return refusal(traced.error());
    const Console nobody(-1, -1, -1);
    co_return reply(200, {{"ok", true}, {"text", trace_text(nobody, *traced, nullptr, false)}});
  }
  json::array rows;
  if (request.path == "/api/history") {
    auto asking = feed_.model().ask(requests::History{.team = team, .limit = messages_shown});
    const auto found = co_await std::move(asking);
    if (!found) co_return refusal(found.error());
    for (const auto& one : found->messages) rows.push_back(message_row(one));
  } else if (request.path == "/api/decisions") {
    auto asking = feed_.model().ask(requests::Decisions{.team = team, .limit = decisions_shown});
    const auto found = co_await std::move(asking);
    if (!found) co_return refusal(found.error());
    for (const auto& one : found->decisions) rows.push_back(decision_row(one));
  } else {
    co_return refusal(404, "web.unknown", "there is nothing under this address");
  }
  co_return reply(200, {{"ok", true}, {"rows", std::move(rows)}});
}

asio::awaitable<Reply> Site::report(std::string path) const {
  auto asking = feed_.model().ask(requests::Status());
  const auto told = co_await std::move(asking);
  if (!told) co_return plain(503, printable(told.error().message) + '\n');
  if (path == "/healthz") co_return plain(200, "ok\n");
  if (path == "/metrics") {
    Reply made = plain(200, metrics_text(*told));
    made.type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    co_return made;
  }
  const std::string why = not_ready(*told);
  co_return why.empty() ? plain(200, "ready\n") : plain(503, why + '\n');
}

}  // namespace inbox_poller::poller::cli::web
