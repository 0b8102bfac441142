// What the verbs of the control socket mean (docs/reference/control.md). One class knows them all; the server knows
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
#include "schema/operations/requests.hpp"

namespace inbox_poller::poller {

class AskFinder;

/// A connection as a holder of a team's messages.
struct Borrower {
  std::weak_ptr<Team> team;
  Leases::Holder holder;
};

/// The connection of one hook.
struct HookTalk {
  std::weak_ptr<Team> team;
  std::string session;           // the lead's
  std::optional<HookOffer> out;  // handed out, and not told yet whether it was printed
  bool replaced = false;         // a hook that waits for another session has taken its place
  // The turn has ended, as far as only this one knows: what the delivery had heard until then, and since when.
  long long heard = 0;
  std::optional<SteadyTime> ended = {};
};

/// "request.invalid" where `event` is none.
Result<schema::HookEvent> event_of(const requests::Heard&);
/// What a hook of that session is about to print.
HookOffer hook_offer(Team&, handlers::HookWay, const std::string& session, const std::vector<Offered>& messages);

class Verbs {
 public:
  /// Reads the configuration again; an error "config.refused" carries every problem, one a line.
  using Reload = std::function<Result<ReloadReport>()>;

  Verbs(PollLoop& loop, Runtime& services, std::string ledger_path, Reload reload);

  /// Names the files that the daemon reads, as absolute paths, for `status`. Decision thread, before the first request.
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
  /// The table of all verbs; null when there is none of that name.
  static const Verb* find(std::string_view name);

  // verbs that may wait
  boost::asio::awaitable<Result<operations::Received>> receive(TeamPtr, requests::Recv, SessionPtr);
  boost::asio::awaitable<Result<operations::Attached>> attach(TeamPtr, requests::Attach, SessionPtr);
  boost::asio::awaitable<Result<operations::Judgement>> judge(TeamPtr, requests::Judge, SessionPtr);
  boost::asio::awaitable<Result<operations::Waited>> wait(TeamPtr, requests::Wait, SessionPtr);
  boost::asio::awaitable<Result<operations::Changed>> changes(requests::Changes, SessionPtr);
  boost::asio::awaitable<Result<operations::ShutdownsBegun>> shut_down(TeamPtr, requests::Shutdown, SessionPtr);
  boost::asio::awaitable<Result<operations::WorkerCall>> worker_call(requests::WorkerCall, SessionPtr);

  // verbs that look at their connection
  Result<operations::HookAnswer> hook(const requests::Hook&, ControlSession&);
  Status shown(const requests::Shown&, ControlSession&);

  // verbs about all teams, or one whose service may have ended
  Result<operations::Status> status(const requests::Status&);
  Result<operations::Pending> pending(const requests::Pending&);
  Result<operations::Outcomes> approve(const requests::Approve&);
  Result<operations::Outcomes> deny(const requests::Deny&);
  Result<operations::Outcomes> answer(const requests::Verdict&, const handlers::Answer&, bool always);
  /// The open ask of a team that is served; otherwise why there is none, or not one.
  Result<std::pair<std::string, handlers::Ask>> open_ask(AskFinder&, const std::string& id) const;
  /// Nothing of it when one is not certain.
  Result<operations::Meant> which(const requests::Which&);
  Result<operations::Acknowledged> acknowledge(const requests::Ack&);
  Result<operations::Decisions> decisions(const requests::Decisions&);
  Result<operations::Trace> trace(const requests::Trace&);
  Result<operations::History> history(const requests::History&);
  Result<operations::Quarantine> quarantine(const requests::Quarantine&);
  Result<operations::Shutdowns> shutdowns(const requests::Shutdowns&);
  Result<operations::Reloaded> reload(const requests::Reload&);

  // verbs about one team
  Result<operations::Sent> send(Team&, const requests::Send&);
  Result<operations::Broadcast> broadcast(Team&, const requests::Broadcast&);
  Result<operations::LeadOfTeam> lead(Team&, const requests::Lead&);
  Result<operations::ModesSent> mode(Team&, const requests::Mode&);
  Result<operations::Assigned> assign(Team&, const requests::Assign&);
  Result<operations::Allowed> allow(Team&, const requests::Allow&);
  Result<operations::Revoked> revoke(Team&, const requests::Revoke&);
  Result<operations::Rules> rules(Team&, const requests::Rules&);
  Result<operations::Trial> try_rules(Team&, const requests::Try&);
  Result<operations::Suggestions> suggest(Team&, const requests::Suggest&);
  Result<operations::Resumed> resume(Team&, const requests::Resume&);

  /// Remembers what was handed out, until it is acknowledged or the connection closes.
  void lend(const TeamPtr& team, const SessionPtr& session, const std::vector<Offered>& messages);
  /// Handed out to a hook, until it says what became of it or goes away.
  static void lend_to_hook(const TeamPtr& team, ControlSession& session, HookOffer offer);
  /// A hook that waits for the lead's messages; why not, where it may not.
  Status attach_hook(const TeamPtr& team, const requests::Attach&, const SessionPtr& session);
  /// `key`, and what its taker got before it over the same connection, also when that connection is gone. None without
  /// a key.
  std::vector<std::string> taken_with(Team&, const Take&, const std::string& key) const;

  /// The lead's own tools ask: of the one team that it leads, in its name, where `lead.mcp_tools` allows it, and
  /// only what that verb's row lets them say. Otherwise why not.
  Result<Object> as_the_lead(const Verb&, const Object& request) const;
  /// "role.not_leader": why `what` is not ours to do now, and what to do about it.
  static Error not_leader(Team&, const std::string& what);
  /// "request.invalid", with the modes there are.
  static Error no_such_mode(const std::string& name);

  /// The team of that name, or, without one, the only one.
  [[nodiscard]] Result<TeamPtr> team_of(const std::string& name) const;
  /// The one whose lead the event is of.
  [[nodiscard]] Result<TeamPtr> team_of_event(const schema::HookEvent&, const requests::Heard&) const;
  /// Null when nobody serves it, or not any more.
  [[nodiscard]] TeamPtr served(const std::string& name) const;
  /// Those that are served, by name; only the one called so, where a name is given.
  [[nodiscard]] std::vector<TeamPtr> all_served(const std::string& wanted = {}) const;

  PollLoop& loop_;
  Runtime& services_;
  const std::string ledger_path_;
  config::Sources sources_ = {};
  const EpochMs started_ms_;
  Reload reload_;
  std::map<std::string, std::weak_ptr<HookTalk>> waiting_;  // by team: the hook that waits for its lead's messages
  std::map<std::string, int> held_stops_;  // session -> how often in a row its stopping was answered with messages
};

}  // namespace inbox_poller::poller
