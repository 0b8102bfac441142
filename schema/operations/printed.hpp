// What commands print of themselves with --json, without a daemon's answer.
#pragma once

#include "schema/operations/record.hpp"

namespace inbox_poller::operations {

/// `status --short`
struct ShortStatus {
  bool waits = false;
  Text line;
};
BOOST_DESCRIBE_STRUCT(ShortStatus, (), (waits, line))

struct Metrics {
  Text text;
};
BOOST_DESCRIBE_STRUCT(Metrics, (), (text))

struct Finding {
  OneOf<"ok", "note", "warning", "error"> severity;
  Text check, what, where, mend;
};
BOOST_DESCRIBE_STRUCT(Finding, (), (severity, check, what, where, mend))

struct DoctorSection {
  Text title, team;
  std::vector<Finding> findings;
};
BOOST_DESCRIBE_STRUCT(DoctorSection, (), (title, team, findings))

struct Doctor {
  long long errors = 0, warnings = 0;
  std::vector<DoctorSection> sections;
};
BOOST_DESCRIBE_STRUCT(Doctor, (), (errors, warnings, sections))

/// `doctor --quick`
struct QuickDoctor {
  Text errors, warnings;
};
BOOST_DESCRIBE_STRUCT(QuickDoctor, (), (errors, warnings))

struct Setting {
  Text key;
  boost::json::value value;
  Text origin;
};
BOOST_DESCRIBE_STRUCT(Setting, (), (key, value, origin))

/// A worker, and whether it takes answers from here.
struct CheckedMember {
  Text team, member, answers, reason;
};
BOOST_DESCRIBE_STRUCT(CheckedMember, (), (team, member, answers, reason))

struct CheckedTeam {
  Text source;
  std::vector<Setting> settings;
  std::vector<CheckedMember> members;
};
BOOST_DESCRIBE_STRUCT(CheckedTeam, (), (source, settings, members))

struct CheckedConfig {
  bool ok = true;  // false with problems
  std::vector<Setting> daemon;
  std::vector<CheckedTeam> teams;
  Texts warnings, problems;
};
BOOST_DESCRIBE_STRUCT(CheckedConfig, (), (ok, daemon, teams, warnings, problems))

struct InboxLock {
  bool is_folder = false;
  long long age_ms = 0;
};
BOOST_DESCRIBE_STRUCT(InboxLock, (), (is_folder, age_ms))

struct ListedInbox {
  Text inbox, path, whose, state, detail;
  long long entries = 0, unread = 0, bad = 0;
  long long size = 0;  // bytes
  long long oldest_unread_ms = 0;
  std::optional<InboxLock> lock;
};
BOOST_DESCRIBE_STRUCT(ListedInbox, (), (inbox, path, whose, state, detail, entries, unread, bad, size, oldest_unread_ms, lock))

struct InboxList {
  Text team, folder, lead;
  std::vector<ListedInbox> inboxes;
};
BOOST_DESCRIBE_STRUCT(InboxList, (), (team, folder, lead, inboxes))

/// An inbox that a command is about.
struct AboutInbox {
  Text team, inbox, path;
};
BOOST_DESCRIBE_STRUCT(AboutInbox, (), (team, inbox, path))

/// An entry as it stands in the file: with its fields, or with the problem and its bytes.
struct InboxEntry {
  Text message_key;
  bool read = false;
  Text type;
  std::optional<Text> from, timestamp, summary, text;
  std::optional<Text> problem, entry;
};
BOOST_DESCRIBE_STRUCT(InboxEntry, (), (message_key, read, type, from, timestamp, summary, text, problem, entry))

struct InboxEntries : AboutInbox {
  std::vector<InboxEntry> entries;
};
BOOST_DESCRIBE_STRUCT(InboxEntries, (AboutInbox), (entries))

struct InboxSent : AboutInbox {
  Text message_key;
};
BOOST_DESCRIBE_STRUCT(InboxSent, (AboutInbox), (message_key))

struct InboxChanged : AboutInbox {
  long long count = 0;  // entries
};
BOOST_DESCRIBE_STRUCT(InboxChanged, (AboutInbox), (count))

/// A message of a shared box as its writer spelled it (docs/reference/mailboxes.md); null where there is none.
struct BoxMessage {
  boost::json::value message;
  std::optional<bool> new_mailbox;  // true: nobody had read there before
  std::optional<Text> note;
};
BOOST_DESCRIBE_STRUCT(BoxMessage, (), (message, new_mailbox, note))

/// A task as its writer spelled it; null where there is none.
struct BoxTask {
  boost::json::value task;
};
BOOST_DESCRIBE_STRUCT(BoxTask, (), (task))

struct BoxTaskCounts {
  long long open = 0, claimed = 0, done = 0, dead = 0;
  Texts mine;  // ids
};
BOOST_DESCRIBE_STRUCT(BoxTaskCounts, (), (open, claimed, done, dead, mine))

struct UnreadableFile {
  Text file, reason;
};
BOOST_DESCRIBE_STRUCT(UnreadableFile, (), (file, reason))

struct BoxInbox {
  Text actor;
  long long unread = 0;
  std::vector<boost::json::object> messages;
  BoxTaskCounts tasks;
  std::optional<std::vector<UnreadableFile>> unreadable;
};
BOOST_DESCRIBE_STRUCT(BoxInbox, (), (actor, unread, messages, tasks, unreadable))

struct BoxTasks {
  bool ok = true;  // false where some could not be given back
  std::vector<boost::json::object> tasks;
};
BOOST_DESCRIBE_STRUCT(BoxTasks, (), (ok, tasks))

struct BoxCopied {
  long long actors = 0, messages = 0, tasks = 0, were_there = 0;
};
BOOST_DESCRIBE_STRUCT(BoxCopied, (), (actors, messages, tasks, were_there))

struct NodesAcl {
  Text acl;
  Text secrets;  // the folder
};
BOOST_DESCRIBE_STRUCT(NodesAcl, (), (acl, secrets))

/// What `hook install` and its likes changed in a client's settings, or would.
struct SettingsChanged {
  Text path;
  bool changed = false;
  Text diff;
  std::optional<Text> client, why, allow;
  std::optional<Texts> hooks_off;
};
BOOST_DESCRIBE_STRUCT(SettingsChanged, (), (path, changed, diff, client, why, allow, hooks_off))

/// Why something could not be had.
struct Refusal {
  bool ok = false;
  Text code, message;
};
BOOST_DESCRIBE_STRUCT(Refusal, (), (ok, code, message))

}  // namespace inbox_poller::operations
