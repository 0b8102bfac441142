// What the verbs of the control socket mean (docs/control.md). One file knows them all; the server knows none.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <memory>
#include <string>

#include "poller/control/server.hpp"
#include "poller/run/poll_loop.hpp"

namespace inbox_poller::poller {

class Service {
 public:
  Service(PollLoop& loop, Services& services, std::string ledger_path);

  boost::asio::awaitable<boost::json::object> handle(boost::json::object request,
                                                     std::shared_ptr<ControlSession> session);

 private:
  using Object = boost::json::object;
  using TeamPtr = std::shared_ptr<Team>;

  Object handle_now(std::string_view verb, const Object& request);
  boost::asio::awaitable<Object> receive(TeamPtr team, Object request, std::shared_ptr<ControlSession> session);

  Object status(const Object& request);
  Object pending(const Object& request);
  Object answer(const Object& request, bool approve);
  Object send(const Object& request);
  Object broadcast(const Object& request);
  Object lead(const Object& request);
  Object acknowledge(const Object& request);
  Object trace(const Object& request);
  Object quarantine(const Object& request);

  /// The team that the request names, or the only one; otherwise fills `problem`.
  TeamPtr team_of(const Object& request, Object& problem) const;

  PollLoop& loop_;
  Services& services_;
  const std::string ledger_path_;
  const EpochMs started_ms_;
};

}  // namespace inbox_poller::poller
