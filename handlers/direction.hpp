// Who may say what where: type x sender x inbox, total. Anybody who can write a file can write any type; what is obeyed
// is decided here and nowhere else. docs/reference/protocol.md shows the same table.
#pragma once

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
  // in the lead's inbox, or an alias
  ask,      // judged by its handler
  answer,   // of a worker to a shutdown of ours
  status,   // updates what we know of the worker
  chat,     // to the lead
  unknown,  // an unknown type: chat or held, as configured
  // in a worker's inbox
  verdict,       // the lead's name answers an ask: if we did not write it, somebody else answered
  order,         // the lead's name orders something; ours or not, it is the worker's to obey
  private_talk,  // between others; not looked into
  refuse,        // reported; in the lead's inbox also kept in quarantine
};

/// The table. `reason` is set for `refuse` and says, for people, why this may not come from there.
struct Direction {
  Passage passage = Passage::refuse;
  std::string_view reason;
};
Direction direction_of(const schema::Payload&, Side, Place);

}  // namespace inbox_poller::handlers
