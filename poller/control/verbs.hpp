// Implements the verbs of the control socket (docs/reference/control.md). This class knows all verbs; the server knows
// none.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "poller/control/server.hpp"
#include "poller/run/poll_loop.hpp"
#include "schema/hook_event.hpp"
#include "schema/operations/verb_arguments.hpp"

namespace inbox_poller::poller {

class RequestFinder;

/// A connection as a holder of a team's messages.
struct LeaseHolder {
  std::weak_ptr<Team> team;
  Leases::Holder holder;
};

/// State of one hook's connection.
struct HookTalk {
  std::weak_ptr<Team> team;
  std::string session;           // of the lead
  std::optional<HookOffer> out;  // offered, not yet known if printed
  bool replaced = false;         // a hook that waits for another session has replaced it
  // End of the turn, known only to this hook: the lead's report counter at that moment, and its time.
  long long heard = 0;
  std::optional<SteadyTime> ended = {};
};

/// Converts a reported hook event. Error: "request.invalid" when `event` is not one.
Result<schema::HookEvent> event_of(const arguments::Heard&);
/// Builds the offer that a hook of this session is about to print.
HookOffer hook_offer(Team&, handlers::OfferingHook, const std::string& session, const std::vector<LeasedMessage>& messages);

class Verbs {
 public:
  /// Reads the configuration again. Error: "config.refused" with every problem, one per line.
  using Reload = std::function<Result<ReloadReport>()>;

  Verbs(PollLoop& loop, Runtime& services, std::string ledger_path, Reload reload);

  /// Sets the files that the daemon reads, as absolute paths, for `status`. Decision thread, before the first request.
  void tell_sources(config::Sources sources) { sources_ = std::move(sources); }

  boost::asio::awaitable<boost::json::object> handle(boost::json::object request,
                                                     std::shared_ptr<ControlSession> session);

 private:
  using Object = boost::json::object;
  using TeamPtr = std::shared_ptr<Team>;
  using SessionPtr = std::shared_ptr<ControlSession>;

  struct Verb;
  template <auto work, auto list = nullptr>
  struct Row;
  /// Finds a verb in the table of all verbs; null when unknown.
  static const Verb* find(std::string_view name);

  // verbs that may wait
  boost::asio::awaitable<Result<operations::Received>> receive(TeamPtr, arguments::Recv, SessionPtr);
  boost::asio::awaitable<Result<operations::Attached>> attach(TeamPtr, arguments::Attach, SessionPtr);
  boost::asio::awaitable<Result<operations::Judgment>> evaluate(TeamPtr, arguments::Evaluate, SessionPtr);
  boost::asio::awaitable<Result<operations::Waited>> wait(TeamPtr, arguments::Wait, SessionPtr);
  boost::asio::awaitable<Result<operations::Changed>> changes(arguments::Changes, SessionPtr);
  boost::asio::awaitable<Result<operations::ShutdownsBegun>> shut_down(TeamPtr, arguments::Shutdown, SessionPtr);
  boost::asio::awaitable<Result<operations::WorkerCall>> worker_call(arguments::WorkerCall, SessionPtr);
  boost::asio::awaitable<Result<operations::WorkerTurn>> worker_turn(arguments::WorkerTurn, SessionPtr);

  // verbs that use their connection
  Result<operations::HookAnswer> hook(const arguments::Hook&, ControlSession&);
  Status shown(const arguments::Shown&, ControlSession&);

  // verbs about all teams, or one that may not be served any more
  Result<operations::Status> status(const arguments::Status&);
  Result<operations::Pending> pending(const arguments::Pending&);
  Result<operations::Outcomes> approve(const arguments::Approve&);
  Result<operations::Outcomes> deny(const arguments::Deny&);
  Result<operations::Outcomes> answer(const arguments::Verdict&, const handlers::Answer&, bool always);
  /// Finds the open request of a served team, or returns the error why there is not exactly one.
  Result<std::pair<std::string, handlers::Request>> open_request(RequestFinder&, const std::string& id) const;
  /// Resolves ids to requests; all fail if one is uncertain.
  Result<operations::Meant> resolve(const arguments::Resolve&);
  Result<operations::Acknowledged> acknowledge(const arguments::Ack&);
  Result<operations::Decisions> decisions(const arguments::Decisions&);
  Result<operations::Trace> trace(const arguments::Trace&);
  Result<operations::History> history(const arguments::History&);
  Result<operations::Quarantine> quarantine(const arguments::Quarantine&);
  Result<operations::Shutdowns> shutdowns(const arguments::Shutdowns&);
  Result<operations::Reloaded> reload(const arguments::Reload&);

  // verbs about one team
  Result<operations::Sent> send(Team&, const arguments::Send&);
  Result<operations::Broadcast> broadcast(Team&, const arguments::Broadcast&);
  Result<operations::LeadOfTeam> lead(Team&, const arguments::Lead&);
  Result<operations::ModesSent> mode(Team&, const arguments::Mode&);
  Result<operations::Assigned> assign(Team&, const arguments::Assign&);
  Result<operations::Allowed> allow(Team&, const arguments::Allow&);
  Result<operations::Revoked> revoke(Team&, const arguments::Revoke&);
  Result<operations::Rules> rules(Team&, const arguments::Rules&);
  Result<operations::Trial> dry_run(Team&, const arguments::DryRun&);
  Result<operations::Suggestions> suggest_rules(Team&, const arguments::SuggestRules&);
  Result<operations::Resumed> resume(Team&, const arguments::Resume&);

  /// Remembers leased messages until they are acknowledged or the connection closes.
  void hold_for_session(const TeamPtr& team, const SessionPtr& session, const std::vector<LeasedMessage>& messages);
  /// Remembers messages leased to a hook until it reports the outcome or disconnects.
  static void hold_for_hook(const TeamPtr& team, ControlSession& session, HookOffer offer);
  /// Registers a hook that waits for the lead's messages. The error says why it may not.
  Status attach_hook(const TeamPtr& team, const arguments::Attach&, const SessionPtr& session);
  /// Returns `key` after the keys that its receiver got earlier over the same connection, even if that is closed. Empty
  /// without a key.
  std::vector<std::string> taken_with(Team&, const FetchOptions&, const std::string& key) const;

  /// Checks and completes a request of the lead's own tools: only for its own team, in its name, as `lead.mcp_tools`
  /// and the verb's row allow. Error: "lead.no_tools" and others.
  Result<Object> as_the_lead(const Verb&, const Object& request) const;
  /// Builds "role.not_leader": the reason why `what` is not ours to do now, and the remedy.
  static Error not_leader(Team&, const std::string& what);
  /// Builds "request.invalid" with the list of modes.
  static Error no_such_mode(const std::string& name);

  /// Finds a team by name, or the only one without a name. Errors: "team.ambiguous", "team.absent", "team.unknown".
  [[nodiscard]] Result<TeamPtr> team_of(const std::string& name) const;
  /// Finds the team whose lead sent the event.
  [[nodiscard]] Result<TeamPtr> team_of_event(const schema::HookEvent&, const arguments::Heard&) const;
  struct HookWorker {
    TeamPtr team;
    std::string name;
  };
  /// Finds the worker whose client runs the hook on this connection. Error: "hook.ignored" with the reason if there is
  /// not exactly one.
  boost::asio::awaitable<Result<HookWorker>> worker_of_hook(std::string session_id, std::string pane, std::string team,
                                                            SessionPtr);
  /// Finds a team by name; null when it is not served (any more).
  [[nodiscard]] TeamPtr served(const std::string& name) const;
  /// Lists the served teams by name; with `wanted` only that one.
  [[nodiscard]] std::vector<TeamPtr> all_served(const std::string& wanted = {}) const;

  PollLoop& loop_;
  Runtime& services_;
  const std::string ledger_path_;
  config::Sources sources_ = {};
  const EpochMs started_ms_;
  Reload reload_;
  std::map<std::string, std::weak_ptr<HookTalk>> waiting_;  // by team: the hook that waits for its lead's messages
  std::map<std::string, int> held_stops_;  // by session: consecutive stops that were answered with messages
};

}  // namespace inbox_poller::poller
