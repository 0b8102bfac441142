// The verb `worker_call`: the verdict of a team's rules on a call that its worker's client is about to make. Sources:
// docs/reference/wire.md W25 (PreToolUse); docs/reference/control.md.
#include "handlers/text.hpp"
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::RequestState;

std::string output_of(const handlers::Request& decided) {
  const std::string reason = handlers::one_line(decided.reason, 1000);
  if (decided.state == RequestState::denied) return schema::hook_call_deny(reason);
  if (decided.state != RequestState::approved) return {};
  return schema::hook_call_allow("allowed by the rule " + handlers::one_line(decided.rule) + " of inbox-poller");
}

}  // namespace

/// Answers a call without a decision without `output`, and gives the reason.
asio::awaitable<Result<operations::WorkerCall>> Verbs::worker_call(arguments::WorkerCall request, SessionPtr session) {
  CO_TRY(const auto event, schema::decode_hook_event(request.event));
  const auto ignored = [](std::string why) { return operations::WorkerCall{{}, {}, {}, {}, std::move(why)}; };
  if (event.name != "PreToolUse") co_return ignored("only PreToolUse tells of a call before it is made");
  const auto client = client_of(services_.processes, session->peer);
  if (!client) co_return ignored("the process that runs the hook is not known");
  TeamPtr team;
  std::string worker;
  for (const auto& one : all_served(request.team)) {
    std::string name = co_await one->worker_calls().worker_of(*client, event.session_id, request.pane);
    if (name.empty() || one->retired()) continue;
    if (team) co_return ignored("the session may be a worker's of several teams");
    team = one;
    worker = std::move(name);
  }
  if (!team) co_return ignored("session " + event.session_id + " does not belong to a worker of a served team");
  if (auto why = team->worker_calls().why_silent(); !why.empty()) co_return ignored(why);
  const handlers::Call call{event.tool_use_id, event.tool_name, event.tool_input, event.cwd,
                            event.permission_mode == "plan"};
  CO_TRY(const auto decided, team->worker_calls().decide(worker, call));
  if (!decided) co_return ignored("no rule allows or denies this call");
  co_return operations::WorkerCall{team->context().name, worker, decided->request_id, output_of(*decided), {}};
}

}  // namespace inbox_poller::poller
