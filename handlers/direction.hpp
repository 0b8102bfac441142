// Who may say what to the lead: type x sender, total. Anybody who can write a file can write any type; what is obeyed
// is decided here and nowhere else. docs/protocol.md shows the same table.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"
#include "schema/payload.hpp"

namespace inbox_poller::handlers {

/// Who the envelope's `from` is to us.
enum class Side {
  member,    // in the roster, not the lead
  former,    // was in the roster once
  lead,      // our own name
  listed,    // not a member, but named in the configuration as somebody whose chat is welcome
  stranger,  // anybody else
};
Side side_of(std::string_view from, const TeamView&);

enum class Passage {
  ask,      // judged by its handler
  status,   // updates what we know of the worker
  chat,     // to the lead
  unknown,  // an unknown type: chat or held, as configured
  refuse,
};

/// The table. `reason` is set for `refuse` and says, for people, why this may not come from there.
struct Direction {
  Passage passage = Passage::refuse;
  std::string_view reason;
};
Direction direction_of(const schema::Payload&, Side);

}  // namespace inbox_poller::handlers
