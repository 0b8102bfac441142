// The verb `judge`: what the rules say about a tool call of the lead's own.
#include "poller/control/request.hpp"
#include "poller/control/service.hpp"

namespace inbox_poller::poller {

boost::asio::awaitable<boost::json::object> Service::judge(TeamPtr, Object, SessionPtr) {
  co_return refuse("verb.unknown", "the lead's own asks are not judged yet");
}

}  // namespace inbox_poller::poller
