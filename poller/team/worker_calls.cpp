#include "poller/team/worker_calls.hpp"

#include "poller/context/message_life.hpp"
#include "schema/hook_settings.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr int most_wrappers = 4;  // between a client and its hook: a shell, a packager's script
constexpr int most_rounds = 8;    // other calls recorded under the same id
constexpr std::size_t most_id = 120;

/// True for a process that only starts us for the client.
bool is_wrapper(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return false;
  if (schema::is_our_program(arguments[0])) return true;
  if (!is_shell(arguments)) return false;
  if (arguments[1] != "-c") return schema::is_our_program(arguments[1]);
  return arguments.size() > 2 && arguments[2].find("inbox-poller") != std::string::npos;
}

}  // namespace

std::optional<HookClient> client_of(Processes& processes, long long hook) {
  auto at = processes.identify(hook);
  for (int i = 0; at && i <= most_wrappers; ++i) {
    const auto above = parent_of(*at);
    if (!above) return std::nullopt;
    const auto arguments = processes.arguments(*above);
    if (!is_wrapper(arguments)) {
      auto parent = parent_of(*above);
      return HookClient{*above, parent ? std::optional(*std::move(parent)) : std::nullopt, option_of(arguments, agent_option)};
    }
    at = above;
  }
  return std::nullopt;
}

asio::awaitable<std::string> WorkerCalls::worker_of(HookClient client, std::string session, std::string pane) {
  const auto& roster = context_.roster;
  const auto only = [&](const auto& fits) {
    std::vector<std::string> names;
    for (const auto& member : roster.members)
      if (member.name != context_.lead && fits(member)) names.push_back(member.name);
    return names.size() == 1 ? names.front() : std::string();
  };
  if (!client.agent_id.empty())
    co_return only([&](const schema::Member& member) { return member.agent_id == client.agent_id; });
  if (session.empty() || session == roster.lead_session_id) co_return std::string();
  std::string name = only([&](const schema::Member& member) { return member.session_id == session; });
  if (!name.empty() || !schema::is_pane_id(pane)) co_return name;
  name = only([&](const schema::Member& member) { return member.tmux_pane_id == pane; });
  if (name.empty()) co_return name;
  const bool its_own = co_await lives_in(std::move(client), std::move(pane));
  co_return its_own ? name : std::string();
}

/// True if the pane was made for this client: the client is its first process, or a child of its first process, a
/// shell.
asio::awaitable<bool> WorkerCalls::lives_in(HookClient client, std::string pane) {
  auto known = seen_panes_.find(pane);
  if (known != seen_panes_.end() && !processes_.is_alive(known->second.first)) {
    seen_panes_.erase(known);
    known = seen_panes_.end();
  }
  if (known == seen_panes_.end()) {
    const auto found = co_await panes_.find(pane);
    if (!found || !*found) co_return false;
    known = seen_panes_.insert_or_assign(pane, **found).first;
  }
  const ProcessRef first = known->second.first;
  if (client.process == first) co_return true;
  const bool in_its_shell = client.parent == first && is_shell(processes_.arguments(first));
  co_return in_its_shell;
}

std::string WorkerCalls::why_silent() const {
  if (context_.may(handlers::Right::answer_by_rule)) return {};
  if (context_.membership.role == handlers::EffectiveRole::paused)
    return "InboxPoller is paused in team " + context_.name + ", until `inbox-poller resume`";
  if (context_.membership.role == handlers::EffectiveRole::follower ||
      context_.membership.role == handlers::EffectiveRole::standby)
    return "team " + context_.name + " is not led from this node, so no hook is answered here";
  return "team " + context_.name + " is only observed (role observer), nothing is decided for it";
}

Result<std::optional<handlers::Request>> WorkerCalls::decide(const std::string& worker, const handlers::Call& call) {
  using handlers::RequestKind;
  if (call.id.size() > most_id || !schema::is_valid_request_id(call.id))
    return Error{"request.invalid", "the call's tool_use_id is missing or holds other characters than letters, digits and @._:+=-"};
  if (call.tool.empty() || !handlers::is_sendable_input(call.input))
    return Error{"permission.bad_input", "the call names no tool, or its input is not one well-formed JSON object"};
  for (int round = 1; round <= most_rounds; ++round) {
    const std::string id = handlers::call_request_id("hook", call.id, round);
    TRY(auto known, context_.ledger.requests().find(context_.name, {RequestKind::permission, worker, id}));
    auto decided = handlers::judge(call, id, worker, context_.view(), context_.clock.wall_ms());
    if (known) {
      const auto hash = handlers::digest_of({call.tool, call.input});
      const bool same = known->content_hash == hash && known->decided_by == handlers::by_hook;
      if (same) return known;
      continue;
    }
    if (!decided) return decided;
    TRY(context_.commit([&](Tx& tx) -> Status {
      auto fields = request_fields(context_.name, *decided, "received");
      fields.emplace_back("latency_ms", "0");
      tx.log(Event::request_decided, std::move(fields));
      return tx.ledger.requests().put(context_.name, *decided);
    }));
    return decided;
  }
  return Error{"request.id_reused", "too many other calls were recorded under the id " + call.id};
}

}  // namespace inbox_poller::poller
