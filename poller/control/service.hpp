// What the verbs of the control socket mean (docs/control.md). One class knows them all; the server knows none.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "poller/control/server.hpp"
#include "poller/run/poll_loop.hpp"

namespace inbox_poller::poller {

class Service {
 public:
  /// Reads the configuration again; an error "config.refused" carries every problem, one a line.
  using Reload = std::function<Result<ReloadReport>()>;

  Service(PollLoop& loop, Services& services, std::string ledger_path, Reload reload);

  boost::asio::awaitable<boost::json::object> handle(boost::json::object request,
                                                     std::shared_ptr<ControlSession> session);

 private:
  using Object = boost::json::object;
  using TeamPtr = std::shared_ptr<Team>;
  using SessionPtr = std::shared_ptr<ControlSession>;

  Object handle_now(std::string_view verb, const Object& request);
  /// Verbs that are about one team.
  Object handle_team(std::string_view verb, const Object& request);

  // verbs that may wait
  boost::asio::awaitable<Object> receive(TeamPtr team, Object request, SessionPtr session);
  boost::asio::awaitable<Object> attach(TeamPtr team, Object request, SessionPtr session);
  boost::asio::awaitable<Object> hook(TeamPtr team, Object request, SessionPtr session);
  boost::asio::awaitable<Object> judge(TeamPtr team, Object request, SessionPtr session);
  boost::asio::awaitable<Object> shut_down(TeamPtr team, Object request, SessionPtr session);

  Object status(const Object& request);
  Object pending(const Object& request);
  Object answer(const Object& request, bool approve);
  Object acknowledge(const Object& request);
  Object decisions(const Object& request);
  Object trace(const Object& request);
  Object quarantine(const Object& request);
  Object shutdowns(const Object& request);
  Object reload();

  Object send(Team&, const Object& request);
  Object broadcast(Team&, const Object& request);
  Object lead(Team&, const Object& request);
  Object mode(Team&, const Object& request);
  Object allow(Team&, const Object& request);
  Object revoke(Team&, const Object& request);
  Object rules(Team&, const Object& request);
  Object resume(Team&, const Object& request);

  /// "role.not_leader": why `what` is not ours to do now, and what to do about it.
  static Object not_leader(Team&, const std::string& what);
  /// "request.invalid", with the modes there are.
  static Object no_such_mode(const std::string& name);

  /// The team that the request names, or the only one; otherwise fills `problem`.
  TeamPtr team_of(const Object& request, Object& problem) const;
  /// Null when nobody serves it, or not any more.
  [[nodiscard]] TeamPtr served(const std::string& name) const;
  /// Those that are served, by name.
  [[nodiscard]] std::vector<TeamPtr> all_served() const;

  PollLoop& loop_;
  Services& services_;
  const std::string ledger_path_;
  const EpochMs started_ms_;
  Reload reload_;
};

}  // namespace inbox_poller::poller
