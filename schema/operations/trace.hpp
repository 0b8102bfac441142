// All that the ledger has on a message, a request or a shutdown.
#pragma once

#include "schema/operations/message.hpp"
#include "schema/operations/request.hpp"
#include "schema/operations/shutdown.hpp"

namespace inbox_poller::operations {

/// An order to a worker, and whether it was taken over.
struct Order {
  Text member, kind, subject, by, state;
  long long state_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Order, (), (member, kind, subject, by, state, state_ms))

/// What we wrote into an inbox, or are to.
struct Effect {
  Text team, inbox;
  Text state;  // pending, written, done, dead
  long long attempts = 0;
  long long created_ms = 0, next_ms = 0;
  Text last_problem, message_key, request_id, entry;
  std::optional<Order> order;
};
BOOST_DESCRIBE_STRUCT(Effect, (), (team, inbox, state, attempts, created_ms, next_ms, last_problem, message_key, request_id, entry, order))

/// A line of the history.
struct Happened {
  long long at_ms = 0;
  Text team, message_key, request_id, event, detail;
};
BOOST_DESCRIBE_STRUCT(Happened, (), (at_ms, team, message_key, request_id, event, detail))

struct TracedRequest : Request {
  std::vector<Effect> effects;
};
BOOST_DESCRIBE_STRUCT(TracedRequest, (Request), (effects))

struct TracedShutdown : Shutdown {
  std::vector<Effect> effects;
};
BOOST_DESCRIBE_STRUCT(TracedShutdown, (Shutdown), (effects))

struct Trace {
  std::vector<Message> messages;
  std::vector<TracedRequest> requests;
  std::vector<TracedShutdown> shutdowns;
  std::vector<Effect> effects;
  std::vector<NodeMessage> node_messages;
  std::vector<Happened> history;
};
BOOST_DESCRIBE_STRUCT(Trace, (), (messages, requests, shutdowns, effects, node_messages, history))

}  // namespace inbox_poller::operations
