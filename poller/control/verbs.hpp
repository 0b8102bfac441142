// What the verbs of the control socket mean (docs/control.md). One class knows them all; the server knows none.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "poller/control/server.hpp"
#include "poller/run/poll_loop.hpp"

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

/// What a hook of that session is about to print.
HookOffer hook_offer(Team&, handlers::HookWay, const std::string& session, const std::vector<Offered>& messages);

class Verbs {
 public:
  /// Reads the configuration again; an error "config.refused" carries every problem, one a line.
  using Reload = std::function<Result<ReloadReport>()>;

  Verbs(PollLoop& loop, Services& services, std::string ledger_path, Reload reload);

  /// Names the files that the daemon reads, as absolute paths, for `status`. Decision thread, before the first request.
  void tell_sources(config::Sources sources) { sources_ = std::move(sources); }

  boost::asio::awaitable<boost::json::object> handle(boost::json::object request,
                                                     std::shared_ptr<ControlSession> session);

 private:
  using Object = boost::json::object;
  using TeamPtr = std::shared_ptr<Team>;
  using SessionPtr = std::shared_ptr<ControlSession>;

  struct Verb;
  /// The table of all verbs; null when there is none of that name.
  static const Verb* find(std::string_view name);
  /// The team that the verb is about, once it may do this verb; otherwise fills `problem`.
  TeamPtr team_for(const Verb&, const Object& request, Object& problem) const;

  // verbs that may wait
  boost::asio::awaitable<Object> receive(TeamPtr team, Object request, SessionPtr session);
  boost::asio::awaitable<Object> attach(TeamPtr team, Object request, SessionPtr session);
  boost::asio::awaitable<Object> judge(TeamPtr team, Object request, SessionPtr session);
  boost::asio::awaitable<Object> wait(TeamPtr team, Object request, SessionPtr session);
  boost::asio::awaitable<Object> changes(Object request, SessionPtr session);
  boost::asio::awaitable<Object> shut_down(TeamPtr team, Object request, SessionPtr session);
  boost::asio::awaitable<Object> worker_call(Object request, SessionPtr session);

  // verbs that look at their connection
  Object hook(const Object& request, ControlSession& session);
  /// A hook says whether it printed what it was handed out.
  Object shown(const Object& request, ControlSession& session);

  // verbs about all teams, or one whose service may have ended
  Object status(const Object& request);
  Object pending(const Object& request);
  Object approve(const Object& request) { return answer(request, true); }
  Object deny(const Object& request) { return answer(request, false); }
  Object answer(const Object& request, bool approve);
  /// The open ask of a team that is served; otherwise why there is none, or not one.
  Result<std::pair<std::string, handlers::Ask>> open_ask(AskFinder&, const std::string& id) const;
  /// The open asks that `ids` mean, or those that are like `like`; nothing of it when one is not certain.
  Object which(const Object& request);
  Object acknowledge(const Object& request);
  Object decisions(const Object& request);
  Object trace(const Object& request);
  Object history(const Object& request);
  Object quarantine(const Object& request);
  Object shutdowns(const Object& request);
  Object reload(const Object& request);

  // verbs about one team
  Object send(Team&, const Object& request);
  Object broadcast(Team&, const Object& request);
  Object lead(Team&, const Object& request);
  Object mode(Team&, const Object& request);
  Object assign(Team&, const Object& request);
  Object allow(Team&, const Object& request);
  Object revoke(Team&, const Object& request);
  Object rules(Team&, const Object& request);
  Object try_rules(Team&, const Object& request);
  Object suggest(Team&, const Object& request);
  Object resume(Team&, const Object& request);

  /// Remembers what was handed out, until it is acknowledged or the connection closes.
  void lend(const TeamPtr& team, const SessionPtr& session, const std::vector<Offered>& messages);
  /// Handed out to a hook, until it says what became of it or goes away.
  static void lend_to_hook(const TeamPtr& team, ControlSession& session, HookOffer offer);
  /// A hook that waits for the lead's messages; why not, where it may not.
  Status attach_hook(const TeamPtr& team, const Object& request, const SessionPtr& session);
  /// `key`, and what its taker got before it over the same connection, also when that connection is gone. None without
  /// a key.
  std::vector<std::string> taken_with(Team&, const Take&, const std::string& key) const;

  /// The lead's own tools ask: of the one team that it leads, in its name, where `lead.mcp_tools` allows it, and
  /// only what that verb's row lets them say. Otherwise why not.
  Object as_the_lead(const Verb&, Object& request) const;
  /// "role.not_leader": why `what` is not ours to do now, and what to do about it.
  static Object not_leader(Team&, const std::string& what);
  /// "request.invalid", with the modes there are.
  static Object no_such_mode(const std::string& name);

  /// The team that the request names, or the only one; otherwise fills `problem`.
  TeamPtr team_of(const Object& request, Object& problem) const;
  /// The one whose lead the request's `event` is of; otherwise fills `problem`.
  TeamPtr team_of_event(const Object& request, Object& problem) const;
  /// Null when nobody serves it, or not any more.
  [[nodiscard]] TeamPtr served(const std::string& name) const;
  /// Those that are served, by name; only the one called so, where a name is given.
  [[nodiscard]] std::vector<TeamPtr> all_served(const std::string& wanted = {}) const;

  PollLoop& loop_;
  Services& services_;
  const std::string ledger_path_;
  config::Sources sources_ = {};
  const EpochMs started_ms_;
  Reload reload_;
  std::map<std::string, std::weak_ptr<HookTalk>> waiting_;  // by team: the hook that waits for its lead's messages
  std::map<std::string, int> held_stops_;  // session -> how often in a row its stopping was answered with messages
};

}  // namespace inbox_poller::poller
