// A team in the answer to `status`.
#pragma once

#include "schema/operations/cluster.hpp"
#include "schema/operations/lead.hpp"
#include "schema/operations/rule.hpp"
#include "schema/operations/shutdown.hpp"

namespace inbox_poller::operations {

struct Inbox {
  Text path, state, detail;
  long long compacted = 0;  // entries that left it since the start
  long long compacted_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Inbox, (), (path, state, detail, compacted, compacted_ms))

struct Roster {
  Text state;  // ok, empty, unreadable
  Text detail;
};
BOOST_DESCRIBE_STRUCT(Roster, (), (state, detail))

struct Member {
  Text member;
  bool present = false;
  Text doing;  // idle, busy, waiting, failed, unresponsive, gone
  Text state;  // its last report
  Text detail, task, mode;
  long long last_seen_ms = 0;
  long long unread_ms = 0;  // since when nobody reads what we wrote to it
  long long pending = 0;    // requests
  std::optional<Text> unsent_key;         // key of the text with which its last turn ended, if it was not sent
  std::optional<long long> unsent_bytes;  // size of that text
  std::optional<Text> answers, answers_reason;  // of one in the roster: as of an open request
};
BOOST_DESCRIBE_STRUCT(Member, (), (member, present, doing, state, detail, task, mode, last_seen_ms, unread_ms, pending, unsent_key, unsent_bytes,
                                   answers, answers_reason))

struct RequestCounts {
  long long pending = 0;
  long long oldest_ms = 0;
  Text oldest_subject;
};
BOOST_DESCRIBE_STRUCT(RequestCounts, (), (pending, oldest_ms, oldest_subject))

/// Messages for the lead.
struct ChatCounts {
  long long queued = 0, offered = 0, delivered = 0;
  long long assumed = 0;  // of the delivered: without an acknowledgment
  long long expired = 0;
  long long digest = 0;  // status messages that wait to be summed up
  long long oldest_queued_ms = 0;
};
BOOST_DESCRIBE_STRUCT(ChatCounts, (), (queued, offered, delivered, assumed, expired, digest, oldest_queued_ms))

/// A way to the lead.
struct DeliveryMethod {
  Text method;
  bool available = false, chosen = false;
  Text reason;  // why it is not available
};
BOOST_DESCRIBE_STRUCT(DeliveryMethod, (), (method, available, chosen, reason))

struct Delivery {
  std::vector<DeliveryMethod> methods;
  Text last_method;
};
BOOST_DESCRIBE_STRUCT(Delivery, (), (methods, last_method))

struct Locks {
  long long acquired = 0, refused = 0, stale_taken = 0;
  long long median_us = 0, p99_us = 0;  // how long we held them
};
BOOST_DESCRIBE_STRUCT(Locks, (), (acquired, refused, stale_taken, median_us, p99_us))

struct DecisionCount {
  Text kind, outcome;
  OneOf<"rule", "person", "lead", "timeout"> by;
  long long count = 0;
};
BOOST_DESCRIBE_STRUCT(DecisionCount, (), (kind, outcome, by, count))

struct SpreadStep {
  long long ms = 0;
  long long count = 0;
};
BOOST_DESCRIBE_STRUCT(SpreadStep, (), (ms, count))

/// How many took at most so long.
struct Spread {
  std::vector<SpreadStep> up_to;
  long long count = 0;
  long long sum_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Spread, (), (up_to, count, sum_ms))

/// Since the daemon's start.
struct Counted {
  std::vector<DecisionCount> decisions;
  Spread waits;    // of requests that waited for somebody
  Spread accepts;  // from the beginning of a look that found something to its commit
};
BOOST_DESCRIBE_STRUCT(Counted, (), (decisions, waits, accepts))

struct Polls {
  long long last_ms = 0;    // when the last one began
  long long late = 0;       // how many since the start began more than four intervals after the one before
  long long late_ms = 0;    // when the last of these began
  long long latest_ms = 0;  // how long after
};
BOOST_DESCRIBE_STRUCT(Polls, (), (last_ms, late, late_ms, latest_ms))

struct NotApplied {
  Text member, mode;
  long long sent_ms = 0;
};
BOOST_DESCRIBE_STRUCT(NotApplied, (), (member, mode, sent_ms))

/// An inbox of nobody.
struct OrphanedInbox {
  Text inbox;
  long long entries = 0, unread = 0;
};
BOOST_DESCRIBE_STRUCT(OrphanedInbox, (), (inbox, entries, unread))

/// A member that cannot be answered.
struct Unreachable {
  Text member, reason;
};
BOOST_DESCRIBE_STRUCT(Unreachable, (), (member, reason))

/// How many tasks of the team's queue stand where, or why that is not known.
struct TaskCounts {
  std::optional<long long> open, claimed, done, dead;
  std::optional<Text> problem;
};
BOOST_DESCRIBE_STRUCT(TaskCounts, (), (open, claimed, done, dead, problem))

/// What another lead takes from the inbox that we only look at.
struct Seen {
  long long consumed = 0, waiting = 0;
  long long oldest_waiting_ms = 0, longest_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Seen, (), (consumed, waiting, oldest_waiting_ms, longest_ms))

struct Team {
  Text team, source;
  Lead lead;
  Inbox inbox;
  Roster roster;
  std::vector<Member> members;
  RequestCounts requests;
  ChatCounts chat;
  Delivery delivery;
  long long replies_owed = 0;  // answers and orders still to be written
  long long quarantined = 0;
  Locks locks;
  std::vector<GivenRule> rules;
  Counted counted;
  Polls polls;
  std::optional<Text> ledger_fault;  // why the last commit failed
  Role role;
  Text role_reason;
  std::vector<Shutdown> shutdowns;  // the open ones
  std::vector<NotApplied> not_applied;
  std::vector<OrphanedInbox> orphaned_inboxes;
  std::vector<Unreachable> unreachable;
  std::optional<TaskCounts> tasks;  // where its mailbox system has a queue
  std::optional<Cluster> cluster;       // where it has several
  std::optional<Seen> seen;         // where another lead consumes the inbox
};
BOOST_DESCRIBE_STRUCT(Team, (), (team, source, lead, inbox, roster, members, requests, chat, delivery, replies_owed, quarantined, locks, rules, counted,
                                 polls, ledger_fault, role, role_reason, shutdowns, not_applied, orphaned_inboxes, unreachable, tasks, cluster, seen))

/// What the daemon reads.
struct Configuration {
  Texts files;
  Text folder, daemon_file;
};
BOOST_DESCRIBE_STRUCT(Configuration, (), (files, folder, daemon_file))

struct Status {
  Text version;
  long long pid = 0;
  long long started_ms = 0;
  Text ledger;
  Configuration configuration;
  std::vector<Team> teams;
};
BOOST_DESCRIBE_STRUCT(Status, (), (version, pid, started_ms, ledger, configuration, teams))

}  // namespace inbox_poller::operations
