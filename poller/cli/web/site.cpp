#include "poller/cli/web/site.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

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

constexpr int rows_shown = 100;

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

/// Converts an error. 409: already decided, or another request by now; 503: no daemon answers; 422: all else.
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

/// Names one request of one team, as the page showed it. `given`: the page's JSON.
void name_request(arguments::Verdict& answer, const json::object& given) {
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

json::object decision_row(const operations::Request& request) {
  json::object row = request_row({request, {}, {}, {}, {}, {}});
  for (const auto& [name, value] :
       fields_of(operations::encode(request), {"state", "decided_by", "reason", "decided_ms"}))
    row[name] = value;
  row.erase("content");
  return row;
}

/// Returns how many rows a query wants: all that are shown, or fewer by `limit`.
int rows_wanted(std::string_view query) {
  const std::string limit = from_query(query, "limit");
  int wanted = rows_shown;
  std::from_chars(limit.data(), limit.data() + limit.size(), wanted);
  return std::clamp(wanted, 1, rows_shown);
}

template <class Rows, class Row>
Reply rows_of(const Rows& found, Row row) {
  json::array rows;
  for (const auto& one : found) rows.push_back(row(one));
  return reply(200, {{"ok", true}, {"rows", std::move(rows)}});
}

}  // namespace

// All addresses except those of the files.
constexpr Site::Route Site::routes[] = {
    {"POST", "/api/session", &Site::open_session},
    {"POST", "/api/answer", &Site::decide},
    {"GET", "/api/events", &Site::events},
    {"GET", "/api/rule", &Site::rule},
    {"GET", "/api/trace", &Site::trace},
    {"GET", "/api/history", &Site::history},
    {"GET", "/api/decisions", &Site::decisions},
    {"GET", "/healthz", &Site::healthy},
    {"GET", "/readyz", &Site::ready},
    {"GET", "/metrics", &Site::metrics},
};

Site::Answer Site::answer(Request request) {
  const bool has_session = sessions_.knows(request.cookie);
  const Visit visit{request.method,     request.path,       request.host,         request.origin, request.fetch_site,
                    request.fetch_mode, request.fetch_dest, request.content_type, has_session};
  if (const auto refused = gate_.refuse(visit)) co_return refusal(refused->status, "web.refused", refused->why);
  for (const Route& route : routes) {
    if (route.method != request.method || route.path != request.path) continue;
    auto answering = (this->*route.run)(std::move(request));
    co_return co_await std::move(answering);
  }
  if (request.method != "GET") co_return refusal(404, "web.unknown", "no POST route at this address");
  if (const File* file = file_of(request.path)) {
    Reply made;
    made.type = std::string(file->type);
    made.text = std::make_shared<const std::string>(file->text);
    co_return made;
  }
  co_return refusal(404, "web.unknown", "this page does not exist");
}

Site::Answer Site::open_session(Request request) {
  const auto cookie = sessions_.open(request.token);
  if (!cookie) co_return refusal(403, "web.token", "this link was used before, or is of an earlier start: `inbox-poller web --link` gives one");
  let_in_();
  Reply made = reply(200, {{"ok", true}});
  made.set_cookie = *cookie;
  co_return made;
}

Site::Answer Site::decide(Request request) {
  json::error_code bad;
  const json::value body = json::parse(request.body, bad);
  const Object given = !bad && body.is_object() ? body.get_object() : Object();
  const std::string verdict = raw_text_of(given, "verdict");
  const std::string words = raw_text_of(given, "reason");
  const bool approves = verdict == arguments::Approve::verb;
  if (raw_text_of(given, "key").empty() || raw_text_of(given, "team").empty() ||
      !(approves || verdict == arguments::Deny::verb))
    co_return refusal(400, "request.invalid", "an answer names `key`, `team` and `verdict`: approve or deny");
  if (!approves && words.empty())
    co_return refusal(400, "request.invalid", "a denial says why: the worker reads it");
  if (approves) {
    arguments::Approve answer;
    name_request(answer, given);
    answer.note = words;
    if (const std::string rule = raw_text_of(given, "rule"); !rule.empty()) {
      auto asking =
          feed_.model().ask(arguments::Resolve{.like = answer.message_key, .team = answer.team, .kind = answer.kind});
      const auto made = co_await std::move(asking);
      if (!made) co_return refusal(made.error());
      if (const auto now = printable(made->rule); now != rule)
        co_return refusal(409, "request.changed", "the rule would be another one by now: " + now);
      answer.always = true;
    }
    auto answering = send_answer(std::move(answer));
    co_return co_await std::move(answering);
  }
  arguments::Deny answer;
  name_request(answer, given);
  answer.reason = words;
  auto answering = send_answer(std::move(answer));
  co_return co_await std::move(answering);
}

template <class Verdict>
Site::Answer Site::send_answer(Verdict answer) const {
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

Site::Answer Site::events(Request) {
  Reply made;
  made.stream = feed_.join();
  co_return made;
}

Site::Answer Site::rule(Request request) {
  auto asking = feed_.model().ask(arguments::Resolve{.like = from_query(request.query, "id"),
                                                   .team = from_query(request.query, "team"),
                                                   .kind = from_query(request.query, "kind")});
  const auto made = co_await std::move(asking);
  if (!made) co_return refusal(made.error());
  json::array subjects;
  for (const auto& one : made->requests) subjects.emplace_back(printable(one.subject));
  co_return reply(200, {{"ok", true}, {"rule", printable(made->rule)}, {"covers", std::move(subjects)}});
}

Site::Answer Site::trace(Request request) {
  auto asking = feed_.model().ask(arguments::Trace{.id = from_query(request.query, "id")});
  const auto traced = co_await std::move(asking);
  if (!traced) co_return refusal(traced.error());
  const Console nobody(-1, -1, -1);
  co_return reply(200, {{"ok", true}, {"text", trace_text(nobody, *traced, nullptr, false)}});
}

Site::Answer Site::history(Request request) {
  auto asking =
      feed_.model().ask(arguments::History{.team = from_query(request.query, "team"), .limit = rows_wanted(request.query)});
  const auto found = co_await std::move(asking);
  if (!found) co_return refusal(found.error());
  co_return rows_of(found->messages, message_row);
}

Site::Answer Site::decisions(Request request) {
  auto asking =
      feed_.model().ask(arguments::Decisions{.team = from_query(request.query, "team"), .limit = rows_wanted(request.query)});
  const auto found = co_await std::move(asking);
  if (!found) co_return refusal(found.error());
  co_return rows_of(found->decisions, decision_row);
}

template <class Text>
Site::Answer Site::of_status(Text text) const {
  auto asking = feed_.model().ask(arguments::Status());
  const auto status = co_await std::move(asking);
  co_return status ? text(*status) : plain(503, printable(status.error().message) + '\n');
}

Site::Answer Site::healthy(Request) {
  return of_status([](const operations::Status&) { return plain(200, "ok\n"); });
}

Site::Answer Site::ready(Request) {
  return of_status([](const operations::Status& status) {
    const std::string why = not_ready(status);
    return why.empty() ? plain(200, "ready\n") : plain(503, why + '\n');
  });
}

Site::Answer Site::metrics(Request) {
  return of_status([](const operations::Status& status) {
    Reply made = plain(200, metrics_text(status));
    made.type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    return made;
  });
}

}  // namespace inbox_poller::poller::cli::web
