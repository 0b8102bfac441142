#include "poller/team/notifier.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>

#include "handlers/ask_route.hpp"
#include "handlers/text.hpp"
#include "poller/child.hpp"
#include "poller/team/ask_view.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::Ask;

constexpr std::size_t most_errands = 1000;
constexpr int most_tries = 3;
constexpr std::chrono::seconds first_backoff{1};

/// How the lines that record() leaves begin.
std::string about_of(const handlers::AskName& name) {
  return "from=" + name.asker + "  type=" + std::string(handlers::to_string(name.kind));
}

/// By the lines that record() leaves.
Result<handlers::Told> told_of(Ledger& ledger, const std::string& team, const handlers::AskName& name) {
  TRY(const auto history, ledger.history().of_request(team, name.request_id));
  handlers::Told told;
  const std::string about = about_of(name) + "  new=";
  for (const auto& row : history) {
    if (row.event != event_name(Event::person_notified) || !row.detail.starts_with(about)) continue;
    (row.detail == about + "pending" ? told.asked : told.decided) = true;
  }
  return told;
}

/// A program's exit as a fault; its last words belong to it.
Status judge(const std::string& program, const ChildResult& end, config::Duration timeout) {
  std::string how;
  if (end.timed_out) {
    how = "took longer than " + std::to_string(timeout.count()) + " ms and was ended";
  } else if (end.exit_code > 0) {
    how = "ended with exit code " + std::to_string(end.exit_code);
  } else if (end.exit_code < 0) {
    how = "was ended by signal " + std::to_string(end.signal);
  } else {
    return Done{};
  }
  const std::string words = handlers::one_line(end.errors);
  return Error{"person.notify", "person.notify: " + program + " " + how + (words.empty() ? "" : ": " + words)};
}

}  // namespace

Status Notifier::restore() {
  if (context_.config.person.notify.empty()) return Done{};
  TRY(auto decisions, context_.recent_decisions());
  std::reverse(decisions.begin(), decisions.end());  // the oldest first
  for (const auto& [team, request] : decisions) {
    TRY(const auto told, told_of(context_.ledger, team, name_of(request)));
    if (handlers::is_to_be_told(request, told, true)) note(request, true);
  }
  return Done{};
}

bool Notifier::asked(const Ask& request) { return note(request, false); }
void Notifier::decided(const Ask& request) { note(request, true); }

bool Notifier::note(const Ask& request, bool decided) {
  if (context_.config.person.notify.empty()) return false;
  if (errands_.size() < most_errands) {
    errands_.push_back({name_of(request), decided});
    return true;
  }
  if (!overflow_told_)
    context_.telemetry.emit(Event::daemon_warning,
                            {{"team", context_.name},
                             {"reason", "person.notify does not keep up: " + std::to_string(most_errands) +
                                            " asks and decisions wait to be told, further decisions are not told"}});
  overflow_told_ = true;
  return false;
}

Result<std::optional<Ask>> Notifier::due(const Errand& errand) const {
  TRY(auto request, context_.ledger.asks().find(context_.name, errand.ask));
  TRY(const auto told, told_of(context_.ledger, context_.name, errand.ask));
  if (!request || !handlers::is_to_be_told(*request, told, errand.decided)) return std::optional<Ask>();
  return request;
}

asio::awaitable<bool> Notifier::tell_next(std::function<bool()> given_up) {
  if (running_ || errands_.empty() || context_.clock.steady() < not_before_) co_return false;
  running_ = true;
  const Errand errand = errands_.front();
  const auto request = due(errand);
  bool finished = context_.config.person.notify.empty() || (request && !*request);  // a reload may have taken it away
  if (!finished && request) {
    auto told = co_await run(**request, errand.decided, given_up);
    if (told) {
      record(**request, Event::person_notified, "");
      finished = true;
    } else if (!given_up() && ++tries_ >= most_tries) {
      record(**request, Event::person_notify_failed, told.error().message);
      finished = true;
    }
  }
  running_ = false;
  if (!finished) {  // the ledger or the program failed, and may not the next time
    not_before_ = context_.clock.steady() + first_backoff * (1 << tries_);
    co_return false;
  }
  errands_.pop_front();
  tries_ = 0;
  not_before_ = {};
  overflow_told_ = overflow_told_ && !errands_.empty();
  co_return !errands_.empty();
}

asio::awaitable<Status> Notifier::run(Ask request, bool decided, std::function<bool()> given_up) const {
  const auto& person = context_.config.person;
  const config::Duration timeout = person.notify_timeout;  // a reload may change it while we wait
  const std::string program = person.notify.front();
  auto view = request_view(context_.name, request);
  view["event"] = decided ? "decided" : "asked";
  ChildCommand command;
  command.argv = person.notify;
  command.input = schema::printable_json(boost::json::serialize(view)) + "\n";
  command.environment = {{"INBOX_POLLER_TEAM", context_.name}};
  command.timeout = timeout;
  command.most_output = 4096;
  command.given_up = std::move(given_up);
  CO_TRY(const auto end, co_await run_child(std::move(command)));
  co_return judge(program, end, timeout);
}

void Notifier::record(const Ask& request, Event event, const std::string& reason) const {
  // A failing ledger is told by commit(); then a restart may tell once more.
  static_cast<void>(context_.commit([&](Tx& tx) {
    Fields fields{{"team", context_.name},
                  {"request_id", request.request_id},
                  {"from", request.asker},
                  {"type", std::string(handlers::to_string(request.kind))},
                  {"new", std::string(handlers::to_string(request.state))}};
    if (!reason.empty()) fields.emplace_back("reason", reason);
    tx.log(event, std::move(fields));
  }));
}

}  // namespace inbox_poller::poller
