// The verbs `try` and `suggest`: evaluate rules before they are added. Neither decides or changes anything.
#include "handlers/orders.hpp"
#include "handlers/rule_trial.hpp"
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "schema/codec.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace {

/// True when the written answer allows exactly the requested input, because a person may replace it. False when the
/// answer is not known any more.
Result<bool> ran_as_asked(Ledger& ledger, const std::string& team, const handlers::Request& request) {
  if (request.kind != handlers::RequestKind::permission) return true;
  TRY(const auto rows, ledger.outbox().of_request(team, schema::inbox_name(request.asker), request.request_id));
  for (const auto& row : rows) {
    const auto payload = schema::decode_payload(row.message.text);
    const auto* answer = std::get_if<schema::PermissionResponse>(&payload);
    if (answer != nullptr && answer->allowed) return answer->updated_input == request.body;
  }
  return false;
}

}  // namespace

Result<operations::Trial> Verbs::dry_run(Team& team, const arguments::DryRun& request) {
  auto& context = team.context();
  const auto& [tool, input, host, worker, of] = request;
  if (host.empty() ? tool.empty() || !schema::scan_object(input) : !tool.empty() || !input.empty())
    return Error{"request.invalid",
                 "`tool` must be a tool's name, and `input` the text of a JSON object; or `host` alone a host's name"};
  const auto view = context.view();
  if (!worker.empty() && context.roster.find(worker) == nullptr)
    if (const auto nobody = handlers::why_no_worker(worker, view)) return Error{nobody->code, nobody->reason};
  const auto trial = !host.empty()
                         ? handlers::Trial{handlers::try_host(host, view), {}, {}}
                         : handlers::try_rules(tool, input, worker.empty() ? std::nullopt : std::optional(worker), view);
  const auto& answerer = host.empty() ? context.config.permissions.approver : context.config.sandbox.approver;
  operations::Trial told{.team = context.name,
                         .host = host,
                         .tool = tool,
                         .input = input,
                         .member = worker,
                         .folder = trial.folder,
                         .decision = config::to_string(trial.verdict.action),
                         .rule = trial.verdict.rule,
                         .reason = trial.verdict.reason,
                         .parts = {},
                         .answerer = config::to_string(answerer),
                         .role = to_string(team.context().membership.role),
                         .source = context.config.source};
  for (const auto& part : trial.parts)
    told.parts.push_back({part.text, config::to_string(part.action), part.rule, part.reason});
  return told;
}

Result<operations::Suggestions> Verbs::suggest_rules(Team& team, const arguments::SuggestRules& request) {
  auto& context = team.context();
  TRY(const auto rows, services_.ledger.requests().decisions(context.name, request.since_ms, limit_of(request)));
  std::vector<handlers::Request> decided;
  for (const auto& [name, one] : rows) {
    TRY(const bool as_asked, one.state == handlers::RequestState::approved ? ran_as_asked(services_.ledger, name, one) : true);
    if (as_asked) decided.push_back(one);
  }
  operations::Suggestions list{context.name, operations::number_of(rows.size()), {}, context.config.source};
  for (const auto& one : handlers::suggest_rules(decided, context.view()))
    list.suggestions.push_back({one.kind, one.rule, operations::number_of(one.requests),
                                operations::Texts(one.askers.begin(), one.askers.end()), one.last_ms});
  return list;
}

}  // namespace inbox_poller::poller
