// What is told of orders to a team, to the daemon, and of what is waited for.
#pragma once

#include "schema/operations/request.hpp"
#include "schema/operations/rule.hpp"

namespace inbox_poller::operations {

struct ModeSent {
  Text member, mode;
};
BOOST_DESCRIBE_STRUCT(ModeSent, (), (member, mode))

struct ModesSent {
  std::vector<ModeSent> sent;
};
BOOST_DESCRIBE_STRUCT(ModesSent, (), (sent))

struct Assigned {
  Text task, subject, member;
};
BOOST_DESCRIBE_STRUCT(Assigned, (), (task, subject, member))

struct Resumed {
  Text team;
  Role role;
};
BOOST_DESCRIBE_STRUCT(Resumed, (), (team, role))

struct Reloaded {
  Texts added, removed, changed;  // names of teams, or patterns of names
  Texts restart;                  // settings that hold only after a restart
  Texts warnings;                 // about the files, as check-config prints them
  std::vector<RuledRequest> answered;
};
BOOST_DESCRIBE_STRUCT(Reloaded, (), (added, removed, changed, restart, warnings, answered))

/// A worker that keeps its team from being idle.
struct Working {
  Text member, doing;
};
BOOST_DESCRIBE_STRUCT(Working, (), (member, doing))

struct Waited {
  Text team;
  bool is_met = false;
  std::vector<OneOf<"idle", "closed", "mail", "answered">> met;
  std::vector<Working> working;
  long long present = 0, requests = 0, mail = 0, shutdowns = 0;
};
BOOST_DESCRIBE_STRUCT(Waited, (), (team, is_met, met, working, present, requests, mail, shutdowns))

struct Changed {
  long long version = 0;
  std::vector<OneOf<"requests", "workers", "chat", "teams", "shutdowns">> changed;
};
BOOST_DESCRIBE_STRUCT(Changed, (), (version, changed))

}  // namespace inbox_poller::operations
