#include "poller/team/notifier.hpp"

#include <algorithm>
#include <utility>

#include "handlers/request_route.hpp"
#include "poller/team/request_view.hpp"
#include "schema/operations/shape.hpp"

namespace inbox_poller::poller {
namespace {

using handlers::Request;

constexpr std::size_t most_jobs = 1000;
constexpr int most_tries = 3;

/// Prefix of the history lines that RequestNotice writes.
std::string about_of(const handlers::RequestName& name) {
  return "from=" + name.asker + "  type=" + std::string(handlers::to_string(name.kind));
}

/// Reads from the lines of RequestNotice which notifications were made.
Result<handlers::Told> told_of(Ledger& ledger, const std::string& team, const handlers::RequestName& name) {
  TRY(const auto history, ledger.history().of_request(team, name.request_id));
  handlers::Told told;
  const std::string about = about_of(name) + "  state=";
  for (const auto& row : history) {
    if (row.event != event_name(Event::approver_notified) || !row.detail.starts_with(about)) continue;
    (row.detail == about + "pending" ? told.asked : told.decided) = true;
  }
  return told;
}

class RequestNotice final : public Job {
 public:
  RequestNotice(TeamState& context, handlers::RequestName name, bool of_decision)
      : context_(context), name_(std::move(name)), of_decision_(of_decision) {}

  [[nodiscard]] Program program() const override {
    const auto& approver = context_.config.approver;
    return {"approver.command", approver.command, approver.command_timeout};
  }

  Result<std::optional<boost::json::object>> due() override {
    TRY(auto request, context_.ledger.requests().find(context_.name, name_));
    TRY(const auto told, told_of(context_.ledger, context_.name, name_));
    if (!request || !handlers::is_to_be_told(*request, told, of_decision_)) return std::optional<boost::json::object>();
    auto view = operations::encode(request_view(context_.name, *request));
    view["event"] = of_decision_ ? "decided" : "asked";
    request_ = *std::move(request);
    return std::optional(std::move(view));
  }

  Status told() override {
    static_cast<void>(record(Event::approver_notified, ""));  // on failure a restart notifies once more
    return Done{};
  }

  bool failed(const std::string& why, int tries) override {
    if (tries < most_tries) return false;
    static_cast<void>(record(Event::approver_notify_failed, why));
    return true;
  }

 private:
  Status record(Event event, const std::string& reason) {
    return context_.commit([&](Tx& tx) {
      Fields fields{{"team", context_.name},
                    {"request_id", request_.request_id},
                    {"from", request_.asker},
                    {"type", std::string(handlers::to_string(request_.kind))},
                    {"state", std::string(handlers::to_string(request_.state))}};
      if (!reason.empty()) fields.emplace_back("reason", reason);
      tx.log(event, std::move(fields));
    });
  }

  TeamState& context_;
  handlers::RequestName name_;
  bool of_decision_;
  Request request_;  // as last read by the program
};

}  // namespace

Status Notifier::restore() {
  if (context_.config.approver.command.empty()) return Done{};
  TRY(auto decisions, context_.recent_decisions());
  std::reverse(decisions.begin(), decisions.end());  // oldest first
  for (const auto& [team, request] : decisions) {
    TRY(const auto told, told_of(context_.ledger, team, name_of(request)));
    if (handlers::is_to_be_told(request, told, true)) note(request, true);
  }
  return Done{};
}

bool Notifier::note(const Request& request, bool of_decision) {
  if (context_.config.approver.command.empty()) return false;
  if (jobs_.size() == 0) overflow_told_ = false;
  if (jobs_.size() < most_jobs) {
    jobs_.add(std::make_unique<RequestNotice>(context_, name_of(request), of_decision));
    return true;
  }
  if (!overflow_told_)
    context_.telemetry.emit(
        Event::daemon_warning,
        {{"team", context_.name},
         {"reason", "approver.command does not keep up: " + std::to_string(most_jobs) +
                        " requests and decisions wait to be told, further decisions are not told"}});
  overflow_told_ = true;
  return false;
}

}  // namespace inbox_poller::poller
