// The verb `hook`: what a hook of the lead's session tells, and what it is answered.
#include "poller/control/request.hpp"
#include "poller/control/service.hpp"

namespace inbox_poller::poller {

boost::asio::awaitable<boost::json::object> Service::hook(TeamPtr, Object, SessionPtr) {
  co_return refuse("verb.unknown", "hooks are not understood yet");
}

}  // namespace inbox_poller::poller
