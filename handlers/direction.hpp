// Which payload type may come from which sender in which inbox, as a total table. Any process that can write a file can
// write any type, so only this table decides what is obeyed. Source: docs/reference/protocol.md shows the same table.
#pragma once

#include <string_view>

#include "handlers/handler.hpp"
#include "schema/payload.hpp"

namespace inbox_poller::handlers {

/// The relation of an envelope's `from` to the team.
enum class Side {
  member,    // in the roster, not the lead
  former,    // in the roster before, not now
  lead,      // the lead's own name
  listed,    // not a member, but named in delivery.allowed_senders
  stranger,  // any other name
};
Side side_of(std::string_view from, const TeamView&);

enum class Passage {
  // In the lead's inbox, or an alias:
  request,  // judged by its handler
  answer,   // a worker's answer to a shutdown
  status,   // updates the worker's status
  chat,     // for the lead
  unknown,  // an unknown type: chat or held, as configured
  // In a worker's inbox:
  verdict,       // an answer in the lead's name; if InboxPoller did not write it, a competing answer
  order,         // an order in the lead's name; the worker obeys it in any case
  private_talk,  // between others; not read
  refuse,        // reported; in the lead's inbox also kept in quarantine
};

/// One cell of the table. `reason` is set for `refuse` and tells people why the type may not come from this sender.
struct Direction {
  Passage passage = Passage::refuse;
  std::string_view reason;
};
Direction direction_of(const schema::Payload&, Side, Place);

}  // namespace inbox_poller::handlers
