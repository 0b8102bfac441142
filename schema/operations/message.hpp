// What is told of messages: as the ledger has them, as the lead gets them, and on their way between nodes.
#pragma once

#include "schema/operations/record.hpp"

namespace inbox_poller::operations {

/// A message between nodes: where it is, as far as this node knows.
struct NodeMessage {
  Text message_key, team;
  OneOf<"out", "in"> direction;
  Text node;  // "@h2" is the stream of node h2, "lead" that of whoever leads
  Text inbox, sender, type, request_id;
  OneOf<"waiting", "put", "there", "read", "rejected"> state;
  long long state_ms = 0, created_ms = 0;
  long long attempts = 0;
  Text problem;
};
BOOST_DESCRIBE_STRUCT(NodeMessage, (), (message_key, team, direction, node, inbox, sender, type, request_id, state, state_ms, created_ms, attempts, problem))

struct Message {
  Text team, inbox, sender, type, disposition, code, reason, message_key, request_id;
  long long received_ms = 0;
  Text delivery, method, confirmed;
  long long offered_ms = 0, delivered_ms = 0;
  long long attempts = 0;
  std::optional<long long> priority;  // 0: to be summed up with others
  std::optional<Text> entry;          // its bytes as they came, or as we would write it
};
BOOST_DESCRIBE_STRUCT(Message, (), (team, inbox, sender, type, disposition, code, reason, message_key, request_id, received_ms, delivery, method,
                                    confirmed, offered_ms, delivered_ms, attempts, priority, entry))

/// A message with what it says.
struct SaidMessage : Message {
  Text timestamp;  // the sender's
  Text text;
  bool is_cut = false;
  std::optional<Text> subject;  // of its request
  std::optional<NodeMessage> node_message;
};
BOOST_DESCRIBE_STRUCT(SaidMessage, (Message), (timestamp, text, is_cut, subject, node_message))

struct History {
  std::vector<SaidMessage> messages;
};
BOOST_DESCRIBE_STRUCT(History, (), (messages))

/// A copy of a file that could not be read.
struct KeptFile {
  Text path;
  long long size = 0;  // bytes
  long long modified_ms = 0;
};
BOOST_DESCRIBE_STRUCT(KeptFile, (), (path, size, modified_ms))

struct Quarantine {
  std::vector<Message> entries;
  std::vector<KeptFile> files;
};
BOOST_DESCRIBE_STRUCT(Quarantine, (), (entries, files))

/// A message as the lead gets it.
struct LeadMessage {
  Text message_key, from, color, summary, timestamp, type, text;
  long long received_ms = 0;
  long long attempts = 0;
  std::optional<Text> request_id;
};
BOOST_DESCRIBE_STRUCT(LeadMessage, (), (message_key, from, color, summary, timestamp, type, text, received_ms, attempts, request_id))

struct Received {
  std::vector<LeadMessage> messages;
  long long held = 0;  // waiting, and not offered
  Text lead_state;
  std::optional<Verbatim> block;  // the text that a lead session sees
};
BOOST_DESCRIBE_STRUCT(Received, (), (messages, held, lead_state, block))

struct Acknowledged {
  long long acknowledged = 0;
};
BOOST_DESCRIBE_STRUCT(Acknowledged, (), (acknowledged))

struct Sent {
  Text member, message_key;
};
BOOST_DESCRIBE_STRUCT(Sent, (), (member, message_key))

struct Broadcast {
  std::vector<Sent> sent;
};
BOOST_DESCRIBE_STRUCT(Broadcast, (), (sent))

}  // namespace inbox_poller::operations
