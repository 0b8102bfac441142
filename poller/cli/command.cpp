#include "poller/cli/command.hpp"

#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "config/units.hpp"
#include "poller/cli/printable.hpp"
#include "poller/control/known_socket.hpp"
#include "poller/clock.hpp"
#include "poller/ledger/inspect.hpp"
#include "schema/envelope.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

/// Returns what happened to the ledger if that explains the missing daemon; empty otherwise.
std::string fate_of_ledger() {
  const config::Loaded loaded = config::load_daemon_settings(config::Environment::from_process());
  if (!loaded.problems.empty()) return "";
  const Status outcome = told_if_saved(loaded.daemon.state_dir + "/ledger.sqlite3");
  return outcome ? "" : ".\n" + outcome.error().message;
}

}  // namespace

Result<std::string> Context::socket_path() const {
  if (!socket.empty()) {
    std::error_code problem;
    const auto path = std::filesystem::absolute(socket, problem);
    if (problem) return Error{std::string(code::bad_path), socket + ": " + problem.message()};
    return path.lexically_normal().string();
  }
  const config::Loaded loaded = config::load_daemon_settings(config::Environment::from_process());
  if (loaded.problems.empty()) return reachable_socket(loaded.daemon);
  std::string all;
  for (const std::string& problem : loaded.problems) all += (all.empty() ? "" : "\n") + problem;
  return Error{"config.invalid", all};
}

Result<ControlClient> Context::connect() const {
  TRY(const auto path, socket_path());
  Result<ControlClient> client = ControlClient::connect(path);
  if (client) return client;
  return advised(client.error());
}

Error Context::advised(Error error) {
  if (error.code == code::no_daemon)
    error.message += "; start one with `inbox-poller run`, or name its socket with --socket" + fate_of_ledger();
  return error;
}

Result<json::object> Context::exchange(ControlClient& client, json::object request,
                                       ControlClient::Patience patience) const {
  if (!team.empty()) request["team"] = team;
  return granted(client.call(request, patience));
}

Result<operations::Outcome> the_one(const operations::Outcomes& outcomes) {
  if (outcomes.answers.size() != 1) return Error{"answer.unreadable", "the daemon did not say what became of the answer"};
  const auto& one = outcomes.answers.front();
  if (!one.ok) return Error{one.code.value_or("").bytes, one.message.value_or("").bytes};
  return one;
}

ExitCode Context::show(const json::object& request, const TeamWait& wait,
                       const std::function<std::string(const json::object&)>& words) const {
  const auto once = [&]() -> Result<json::object> {
    TRY(auto client, connect());
    return exchange(client, request, usual_patience);
  };
  TeamAwaited awaited(*this, wait);
  Result<json::object> answer = once();
  while (awaited.again(answer)) answer = once();
  if (!answer) return fail(answer.error());
  return json ? print_json(*answer) : print(words(*answer));
}

bool TeamAwaited::again(Result<json::object>& answer) {
  constexpr std::chrono::milliseconds between{100};
  if (answer) return false;
  Error error = answer.error();
  const bool no_team = error.code == "team.absent";
  if (!no_team && (!wait_.waits || error.code != "member.unknown")) return false;
  const bool over = wait_.limit && std::chrono::steady_clock::now() - begun_ >= *wait_.limit;
  if (!wait_.waits || over) {
    error.message += wait_.waits ? "; it did not come in time" : "; a command with --wait waits until it is there";
    if (wait_.waits) error.code = "wait.over";
    answer = std::move(error);
    return false;
  }
  if (!std::exchange(told_, true)) context_.console.complain(printable(error.message) + "; this command waits for it");
  rest(between);
  return true;
}

ExitCode Context::fail(const Error& error) const {
  if (json)
    print_json({{"ok", false}, {"code", error.code}, {"message", error.message}});
  else
    console.explain(printable_block(error.message, "inbox-poller: "));
  return exit_code_of(error);
}

ExitCode Context::print(std::string_view text) const {
  const Status written = console.write(text);
  if (written.ok()) return ExitCode::done;
  console.complain(written.error().message);
  return ExitCode::failed;
}

ExitCode Context::print_json(const json::object& object) const {
  json::object whole = object;
  whole.emplace("version", INBOX_POLLER_VERSION);
  return print(printable_json(schema::strict_json(whole)) + '\n');
}

Result<json::object> granted(Result<json::object> answer) {
  if (!answer || flag_of(*answer, "ok")) return answer;
  return Error{raw_text_of(*answer, "code"), raw_text_of(*answer, "message")};
}

std::string raw_text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::string text_of(const json::object& object, std::string_view name) { return printable(raw_text_of(object, name)); }

long long number_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !(value->is_int64() || value->is_uint64())) return 0;
  json::error_code too_large;
  const auto number = value->to_number<long long>(too_large);
  return too_large ? 0 : number;
}

bool flag_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

const json::object& object_of(const json::object& object, std::string_view name) {
  static const json::object none;
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_object() ? value->get_object() : none;
}

std::vector<const json::object*> objects_of(const json::object& object, std::string_view name) {
  std::vector<const json::object*> list;
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_array()) return list;
  for (const json::value& element : value->get_array())
    if (element.is_object()) list.push_back(&element.get_object());
  return list;
}

void rest(std::chrono::milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }

namespace {
long long stopped_ms = 0;
}

long long now_ms() { return stopped_ms == 0 ? SystemClock().wall_ms() : stopped_ms; }
void stop_clock(long long at_ms) { stopped_ms = at_ms; }

std::string ago(long long epoch_ms) { return epoch_ms == 0 ? "never" : span_text(now_ms() - epoch_ms) + " ago"; }

void TeamWait::read(const std::string& option, const std::string& text) {
  waits = true;
  if (!text.empty()) limit = read_duration(option, text);
}

config::Duration read_duration(const std::string& option, const std::string& text) {
  const Result<config::Duration> duration = config::parse_duration(text);
  if (!duration) throw CLI::ValidationError(option + " takes a duration such as 20s, 10min or 0s, not \"" + text + '"');
  return *duration;
}

std::string user_name() {
  if (const char* user = std::getenv("USER"); user != nullptr && *user != '\0') return user;
  if (const passwd* entry = ::getpwuid(::getuid()); entry != nullptr) return entry->pw_name;
  return "uid " + std::to_string(::getuid());
}

}  // namespace inbox_poller::poller::cli
