#include "poller/cli/mcp/server.hpp"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/json.hpp>
#include <utility>

#include "schema/envelope.hpp"

namespace inbox_poller::poller::cli::mcp {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::steady_clock;

namespace {

constexpr std::string_view legacy[] = {"2025-06-18", "2025-11-25"};  // the last one is offered
constexpr std::string_view modern = "2026-07-28";
constexpr std::string_view version_key = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view capabilities_key = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view server_key = "io.modelcontextprotocol/serverInfo";
constexpr int list_lives_ms = 60'000;

json::object server_info() {
  return {{"name", "inbox-poller"}, {"title", "InboxPoller"}, {"version", INBOX_POLLER_VERSION}};
}

const json::object* object_in(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr ? value->if_object() : nullptr;
}

bool is(const json::value& value, std::string_view text) { return value.is_string() && value.get_string() == text; }

void add_cache(json::object& result) {
  result["ttlMs"] = list_lives_ms;
  result["cacheScope"] = "private";
}

}  // namespace

struct Server::Call {
  explicit Call(asio::io_context& loop) : timer(loop) {}
  json::value id;
  Era era = Era::legacy;
  const Tool* tool = nullptr;
  asio::cancellation_signal cancel;
  bool canceled = false;
  json::value progress_token;
  double total = 0;  // seconds
  steady_clock::time_point begun = steady_clock::now();
  asio::steady_timer timer;
};

Server::Server(asio::io_context& loop, Backend& backend, Wire& wire, Settings settings)
    : loop_(loop), backend_(backend), wire_(wire), settings_(std::move(settings)), unacknowledged_(loop) {}

Server::~Server() = default;

void Server::write(std::string line) {
  written_ += line.size();
  wire_.write(std::move(line));
}

void Server::refuse(const Faulty& faulty, json::object data) { write(error_line(faulty, std::move(data))); }

void Server::notify(std::string_view method, json::object params) {
  write(notification_line(method, std::move(params)));
}

void Server::answer(const json::value& id, Era era, json::object result) {
  if (era == Era::modern) {
    result["resultType"] = "complete";
    result["_meta"] = json::object{{server_key, server_info()}};
  }
  write(result_line(id, std::move(result)));
}

/// Answers with an error that the model can correct; the protocol makes that a result.
void Server::answer_error(const json::value& id, Era era, const std::string& sentence) {
  answer(id, era, {{"content", json::array{json::object{{"type", "text"}, {"text", sentence}}}}, {"isError", true}});
}

void Server::hear(std::string_view line) {
  Incoming incoming = read_line(line);
  if (auto* const request = std::get_if<Request>(&incoming)) hear(std::move(*request));
  if (const auto* const notification = std::get_if<Notification>(&incoming)) hear(*notification);
  if (const auto* const faulty = std::get_if<Faulty>(&incoming)) refuse(*faulty);
}

void Server::hear(const Notification& said) {
  if (said.method == "notifications/initialized") return client_is_ready();
  if (settings_.channel && said.method == "notifications/claude/channel/permission_request")
    return client_asks(said.params);
  if (said.method != "notifications/cancelled") return;
  if (const json::value* const id = said.params.if_contains("requestId")) cancel(json::serialize(*id));
}

void Server::hear(Request request) {
  take_what_was_read();
  Era era = Era::legacy;
  const json::object* const meta = object_in(request.params, "_meta");
  if (meta != nullptr && meta->contains(version_key)) {
    const json::value& version = meta->at(version_key);
    if (!is(version, modern))
      return refuse({request.id, Code::version, "this revision is not spoken here"},
                    {{"supported", json::array{modern}}, {"requested", version}});
    if (object_in(*meta, capabilities_key) == nullptr)
      return refuse({request.id, Code::bad_params,
                     "\"" + std::string(capabilities_key) + "\" in \"_meta\" must be an object"});
    era = Era::modern;
  }
  const std::string& method = request.method;
  if (era == Era::legacy && method == "initialize") return initialize(request);
  if (era == Era::legacy && method == "ping") return answer(request.id, era, {});
  if (method == "server/discover") return discover(request);
  if (method == "tools/list") return list(request, era);
  if (method == "tools/call") return begin(request, era);
  refuse({request.id, Code::no_method, "this server does not have the method " + method.substr(0, 100)});
}

void Server::initialize(const Request& request) {
  const json::value* const wanted = request.params.if_contains("protocolVersion");
  const bool known =
      wanted != nullptr && std::any_of(std::begin(legacy), std::end(legacy), [&](auto one) { return is(*wanted, one); });
  json::object capabilities{{"tools", json::object()}};
  if (settings_.channel) capabilities["experimental"] = json::object{{"claude/channel", json::object()},
                                               {"claude/channel/permission", json::object()}};
  answer(request.id, Era::legacy,
         {{"protocolVersion", known ? *wanted : json::value(*std::rbegin(legacy))},
          {"capabilities", std::move(capabilities)},
          {"serverInfo", server_info()},
          {"instructions", backend_.instructions()}});
}

void Server::discover(const Request& request) {
  json::object result{{"supportedVersions", json::array{modern}},
                      {"capabilities", json::object{{"tools", json::object()}}},
                      {"instructions", backend_.instructions()}};
  add_cache(result);
  answer(request.id, Era::modern, std::move(result));
}

void Server::list(const Request& request, Era era) {
  json::array list;
  backend_.before_list();
  for (const Tool& tool : tools())
    if (backend_.shows(tool)) list.push_back(described(tool));
  json::object result{{"tools", std::move(list)}};
  if (era == Era::modern) add_cache(result);
  answer(request.id, era, std::move(result));
}

void Server::begin(Request& request, Era era) {
  const auto bad = [&](std::string why) { refuse({request.id, Code::bad_params, std::move(why)}); };
  const json::value* const name = request.params.if_contains("name");
  if (name == nullptr || !name->is_string()) return bad("\"name\" must be the name of a tool");
  const Tool* const tool = find_tool(name->get_string());
  if (tool == nullptr) return bad("this server does not have a tool of this name; tools/list lists them");
  const json::value* const given = request.params.if_contains("arguments");
  if (given != nullptr && !given->is_object() && !given->is_null()) return bad("\"arguments\" must be an object");
  json::object arguments = given != nullptr && given->is_object() ? given->get_object() : json::object();
  if (const auto problem = problem_of(*tool, arguments)) return answer_error(request.id, era, *problem);
  const std::string id = json::serialize(request.id);
  if (open_.contains(id)) return refuse({request.id, Code::no_request, "a call with this id is not over yet"});
  if (running_ >= most_open)
    return answer_error(request.id, era,
                        std::to_string(most_open) + " calls are open: wait until one is over, or cancel some");
  auto call = std::make_shared<Call>(loop_);
  call->id = request.id;
  call->era = era;
  call->tool = tool;
  call->total = seconds_in(arguments, "timeout_s", default_wait_s);
  if (const json::object* const meta = object_in(request.params, "_meta"))
    if (const json::value* const token = meta->if_contains("progressToken"); token != nullptr && is_id(*token))
      call->progress_token = *token;
  open_[id] = call;
  ++running_;
  if (tool->waits && !call->progress_token.is_null()) progress(call, 1);
  auto working = work(call, std::move(arguments));
  asio::co_spawn(loop_, std::move(working),
                 asio::bind_cancellation_slot(call->cancel.slot(), [this, call](const std::exception_ptr& failure) {
                   --running_;
                   if (!failure || call->canceled) return;
                   try {
                     std::rethrow_exception(failure);
                   } catch (const std::exception& problem) {
                     settings_.complain(std::string(call->tool->name) + " failed: " + problem.what());
                     over(call, Error{"internal", std::string("this failed inside the server: ") + problem.what()});
                   }
                 }));
}

asio::awaitable<void> Server::work(CallPtr call, json::object arguments) {
  auto working = backend_.call(*call->tool, std::move(arguments));
  auto given = co_await std::move(working);
  over(call, std::move(given));
}

void Server::over(const CallPtr& call, Result<Given> given) {
  call->timer.cancel();
  if (call->canceled) {
    if (given && !given->ticket.empty()) backend_.requeue(given->ticket);
    return;
  }
  const std::string id = json::serialize(call->id);
  open_.erase(id);
  if (!given) return answer_error(call->id, call->era, given.error().message);
  clip(given->answer, call->tool->answer, backend_.whole(*call->tool));
  // Some clients show a model only the text, others only the structured content, so the note is in both.
  json::array content{json::object{{"type", "text"}, {"text", schema::strict_json(given->answer)}}};
  if (const json::value* const note = given->answer.if_contains("note"))
    content.push_back(json::object{{"type", "text"}, {"text", *note}});
  answer(call->id, call->era,
         {{"content", std::move(content)},
          {"structuredContent", std::move(given->answer)},
          {"isError", false}});
  if (given->ticket.empty()) return;
  handed_.push_back({id, std::move(given->ticket), written_, steady_clock::now() + settings_.ack_within});
  if (handed_.size() == 1) watch_handed();
}

/// Sends progress, which restarts the timeout of some clients.
void Server::progress(const CallPtr& call, int beats) {
  call->timer.expires_at(call->begun + beats * settings_.progress_every);
  call->timer.async_wait([this, call, beats](const boost::system::error_code& problem) {
    if (problem || call->canceled) return;
    if (wire_.is_full()) return progress(call, beats + 1);  // the client reads nothing
    const std::chrono::duration<double> passed = beats * settings_.progress_every;
    notify("notifications/progress", {{"progressToken", call->progress_token},
                                      {"progress", passed.count()},
                                      {"total", std::max(call->total, passed.count())},
                                      {"message", "no message yet"}});
    progress(call, beats + 1);
  });
}

/// Cancels a call. If its answer is already written, the client ignores that answer, and its message is requeued.
void Server::cancel(const std::string& id) {
  if (const auto found = open_.find(id); found != open_.end()) {
    const CallPtr call = found->second;
    open_.erase(found);
    call->canceled = true;
    call->timer.cancel();
    call->cancel.emit(asio::cancellation_type::terminal);
    asio::post(loop_, [call] {});  // destroys the call, which owns the signal, after this cancellation
    return;
  }
  for (auto one = handed_.begin(); one != handed_.end(); ++one) {
    if (one->id != id) continue;
    backend_.requeue(one->ticket);
    handed_.erase(one);
    return;
  }
}

/// Acknowledges messages whose answers the client has read; called at each further request.
void Server::take_what_was_read() {
  if (handed_.empty()) return;
  const std::uint64_t read = wire_.read_by_client();
  std::erase_if(handed_, [&](const Handed& one) {
    if (one.end > read) return false;
    const Status taken = backend_.acknowledge(one.ticket);
    if (!taken) settings_.complain("a message could not be acknowledged, and may come again: " + taken.error().message);
    return taken.ok();
  });
}

void Server::watch_handed() {
  if (handed_.empty()) return;
  unacknowledged_.expires_at(handed_.front().until);
  unacknowledged_.async_wait([this](const boost::system::error_code& problem) {
    if (problem) return;
    const auto now = steady_clock::now();
    while (!handed_.empty() && handed_.front().until <= now) {
      backend_.requeue(handed_.front().ticket);
      handed_.pop_front();
    }
    watch_handed();
  });
}

void Server::input_ended() {
  std::vector<std::string> waiting;
  for (const auto& [id, call] : open_)
    if (call->tool->waits) waiting.push_back(id);
  for (const std::string& id : waiting) cancel(id);
}

void Server::leave(bool lives) {
  while (!open_.empty()) cancel(std::string(open_.begin()->first));
  if (lives) take_what_was_read();
  for (const Handed& one : handed_) backend_.requeue(one.ticket);
  handed_.clear();
  unacknowledged_.cancel();
}

}  // namespace inbox_poller::poller::cli::mcp
