#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

std::string_view to_string(BoxState state) {
  switch (state) {
    case BoxState::open: return "ok";
    case BoxState::missing: return "missing";
    case BoxState::empty: return "empty";
    case BoxState::torn: return "torn";
    case BoxState::not_regular: return "not_regular";
    case BoxState::too_large: return "too_large";
    case BoxState::held: return "locked";
    case BoxState::fault: break;
  }
  return "fault";
}

}  // namespace inbox_poller::poller
