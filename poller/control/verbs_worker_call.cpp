// The verbs of a worker's hook. `worker_call`: the verdict of the team's rules on a call that the client is about to
// make. `worker_turn`: the text with which a turn ends. Sources: docs/reference/wire.md W25; docs/reference/control.md.
#include "handlers/hook_proof.hpp"
#include "handlers/text.hpp"
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::RequestState;

constexpr std::string_view not_ours = "hook.ignored";
constexpr std::size_t most_turn_text = std::size_t{1} << 20;
constexpr std::chrono::seconds decided_within{5};  // no hook waits that long

std::string output_of(const handlers::Request& decided) {
  const std::string reason = handlers::one_line(decided.reason, 1000);
  if (decided.state == RequestState::denied) return schema::hook_call_deny(reason);
  if (decided.state != RequestState::approved) return {};
  return schema::hook_call_allow("allowed by the rule " + handlers::one_line(decided.rule) + " of inbox-poller");
}

}  // namespace

asio::awaitable<Result<Verbs::HookWorker>> Verbs::worker_of_hook(std::string session_id, std::string pane,
                                                                 std::string wanted, SessionPtr session) {
  const auto ignored = [](std::string why) { return Error{std::string(not_ours), std::move(why)}; };
  const auto client = client_of(services_.processes, session->peer);
  if (!client) co_return ignored("the process that runs the hook is not known");
  HookWorker found;
  for (const auto& one : all_served(wanted)) {
    std::string name = co_await one->worker_hooks().calls.worker_of(*client, session_id, pane);
    if (name.empty() || one->retired()) continue;
    if (found.team) co_return ignored("the session may be a worker's of several teams");
    found = {one, std::move(name)};
  }
  if (!found.team) co_return ignored("session " + session_id + " does not belong to a worker of a served team");
  co_return found;
}

/// Answers a call without a decision without `output`, and gives the reason.
asio::awaitable<Result<operations::WorkerCall>> Verbs::worker_call(arguments::WorkerCall request, SessionPtr session) {
  CO_TRY(const auto event, schema::decode_hook_event(request.event));
  const auto ignored = [](std::string why) { return operations::WorkerCall{{}, {}, {}, {}, std::move(why)}; };
  if (event.name != "PreToolUse") co_return ignored("only PreToolUse tells of a call before it is made");
  auto finding = worker_of_hook(event.session_id, request.pane, request.team, session);
  const auto found = co_await std::move(finding);
  if (!found && found.error().code == not_ours) co_return ignored(found.error().message);
  if (!found) co_return found.error();
  const auto& [team, worker] = *found;
  if (auto why = team->worker_hooks().calls.why_silent(); !why.empty()) co_return ignored(why);
  const handlers::Call call{event.tool_use_id, event.tool_name, event.tool_input, event.cwd,
                            event.permission_mode == "plan"};
  CO_TRY(const auto decided, team->worker_hooks().calls.decide(worker, call));
  if (!decided) co_return ignored("no rule allows or denies this call");
  co_return operations::WorkerCall{team->context().name, worker, decided->request_id, output_of(*decided), {}};
}

/// Waits for the decision, so that the client begins no further turn before it. A decision that takes longer comes all
/// the same.
asio::awaitable<Result<operations::WorkerTurn>> Verbs::worker_turn(arguments::WorkerTurn request, SessionPtr session) {
  const auto ignored = [](std::string why) { return operations::WorkerTurn{{}, {}, {}, std::move(why)}; };
  session->turn_text += request.text;
  if (session->turn_text.size() > most_turn_text) {
    session->turn_text.clear();
    co_return Error{"request.invalid",
                    "the text of a turn is longer than " + std::to_string(most_turn_text) + " bytes"};
  }
  if (request.more) co_return operations::WorkerTurn();
  ReportedTurn turn;
  turn.text = std::exchange(session->turn_text, {});
  CO_TRY(auto event, schema::decode_hook_event(request.event));
  if (event.name != "Stop" || !event.agent_id.empty())
    co_return ignored("only Stop tells of the end of a worker's turn");
  auto finding = worker_of_hook(event.session_id, request.pane, request.team, session);
  const auto found = co_await std::move(finding);
  if (!found && found.error().code == not_ours) co_return ignored(found.error().message);
  if (!found) co_return found.error();
  const auto& team = found->team;
  if (!team->context().may(handlers::Right::read_inbox))
    co_return ignored("the lead's inbox of team " + team->context().name + " is not read from here now");
  turn.worker = found->name;
  event.last_assistant_message = turn.text;
  turn.id = handlers::turn_of(event);
  turn.went_wrong = handlers::sign_of(event) == handlers::HookSign::failure;
  const auto key = std::make_shared<std::optional<std::string>>();
  team->worker_hooks().unsent_reports.ended(std::move(turn), [key, session](const std::string& kept) {
    *key = kept;
    session->news.raise();
  });
  team->wake();
  const auto until = services_.clock.steady() + decided_within;
  for (auto now = services_.clock.steady(); !*key && !session->closed && now < until; now = services_.clock.steady())
    co_await session->news.wait(session->news.count(), std::chrono::ceil<std::chrono::milliseconds>(until - now));
  if (!*key) co_return ignored("the lead's inbox was not read in time; what the lead gets is decided when it is");
  operations::WorkerTurn answer{team->context().name, found->name, {}, {}};
  if (!(*key)->empty()) answer.message_key = **key;
  co_return answer;
}

}  // namespace inbox_poller::poller
