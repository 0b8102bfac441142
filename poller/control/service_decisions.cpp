// The verb `decisions`: who decided what, when and by which rule.
#include "poller/control/request.hpp"
#include "poller/control/service.hpp"

namespace inbox_poller::poller {

boost::json::object Service::decisions(const Object&) { return refuse("verb.unknown", "not listed yet"); }

}  // namespace inbox_poller::poller
