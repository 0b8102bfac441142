// What is told of the lead, and said to who stands for it.
#pragma once

#include "schema/operations/record.hpp"

namespace inbox_poller::operations {

/// What the lead's client says of itself, while it lives.
struct SessionFile {
  long long pid = 0;
  Text client;  // its version
  Text status;
  bool reads_inbox = false;
};
BOOST_DESCRIBE_STRUCT(SessionFile, (), (pid, client, status, reads_inbox))

struct Lead {
  Text member;
  Text state;  // busy, idle, offline
  long long since_ms = 0;
  long long until_ms = 0;  // when the report runs out
  Text by;                 // the event that told it
  Text session, pane;
  Text not_woken;  // why hooks do not wake it when it is idle; empty when they do
  std::optional<SessionFile> session_file;
};
BOOST_DESCRIBE_STRUCT(Lead, (), (member, state, since_ms, until_ms, by, session, pane, not_woken, session_file))

struct LeadOfTeam : Lead {
  Text team;
  bool permissions = false;  // lead.permissions
  bool mcp_tools = false;    // lead.mcp_tools
};
BOOST_DESCRIBE_STRUCT(LeadOfTeam, (Lead), (team, permissions, mcp_tools))

struct Attached {
  Text team, lead, method, lead_state;
  bool permissions = false;  // lead.permissions
};
BOOST_DESCRIBE_STRUCT(Attached, (), (team, lead, method, lead_state, permissions))

/// What a hook of the lead's is to print.
struct HookAnswer {
  Texts keys;                   // of the messages that are in it
  std::optional<Text> ignored;  // why the event is not the lead's
  std::optional<Verbatim> output;
};
BOOST_DESCRIBE_STRUCT(HookAnswer, (), (keys, ignored, output))

/// What a hook of a worker's is to print.
struct WorkerCall {
  std::optional<Text> team, member;
  std::optional<Text> request_id;  // under which it is recorded
  std::optional<Verbatim> output;
  std::optional<Text> ignored;  // why nothing is decided
};
BOOST_DESCRIBE_STRUCT(WorkerCall, (), (team, member, request_id, output, ignored))

/// What became of the text at the end of a worker's turn.
struct WorkerTurn {
  std::optional<Text> team, member;
  std::optional<Text> message_key;  // key of the text, if it was kept because the worker had sent the lead nothing
  std::optional<Text> ignored;      // the reason, if nothing is decided
};
BOOST_DESCRIBE_STRUCT(WorkerTurn, (), (team, member, message_key, ignored))

}  // namespace inbox_poller::operations
