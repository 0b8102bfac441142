// What is told of rules.
#pragma once

#include "schema/operations/request.hpp"

namespace inbox_poller::operations {

using Action = OneOf<"allow", "deny", "ask">;
using Role = OneOf<"leader", "interceptor", "observer", "paused", "standby", "follower">;

struct Rule {
  Text kind, action, rule;
};
BOOST_DESCRIBE_STRUCT(Rule, (), (kind, action, rule))

/// A rule that a person gave in this session.
struct GivenRule : Rule {
  Text by;
  long long at_ms = 0;
};
BOOST_DESCRIBE_STRUCT(GivenRule, (Rule), (by, at_ms))

struct ToldRule : GivenRule {
  Texts told;                    // names of workers
  std::optional<Text> not_told;  // of a rule of the team: the rule for which no worker is told
};
BOOST_DESCRIBE_STRUCT(ToldRule, (GivenRule), (told, not_told))

struct Rules {
  Text team;
  std::vector<Rule> configured;
  std::vector<ToldRule> session;
  Text source;
};
BOOST_DESCRIBE_STRUCT(Rules, (), (team, configured, session, source))

struct TriedPart {
  Text part;
  Action action;
  Text rule, reason;
};
BOOST_DESCRIBE_STRUCT(TriedPart, (), (part, action, rule, reason))

/// What rules make of a call that nobody makes.
struct Trial {
  Text team, host, tool, input, member, folder;
  Action decision;
  Text rule, reason;
  std::vector<TriedPart> parts;
  Text answerer;
  Role role;
  Text source;
};
BOOST_DESCRIBE_STRUCT(Trial, (), (team, host, tool, input, member, folder, decision, rule, reason, parts, answerer, role, source))

/// A rule that would have spared a person approvals.
struct Suggestion {
  Text kind, rule;
  long long requests = 0;
  Texts members;
  long long last_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Suggestion, (), (kind, rule, requests, members, last_ms))

struct Suggestions {
  Text team;
  long long looked_at = 0;  // decisions
  std::vector<Suggestion> suggestions;
  Text source;
};
BOOST_DESCRIBE_STRUCT(Suggestions, (), (team, looked_at, suggestions, source))

struct Allowed {
  Text rule;
  bool is_new = false;
  Texts told;
  Text not_told;
  std::vector<RuledRequest> answered;
  Role role;
};
BOOST_DESCRIBE_STRUCT(Allowed, (), (rule, is_new, told, not_told, answered, role))

struct Revoked {
  Text rule;
  Texts keepers;  // names of workers that were told and keep it until their sessions end
};
BOOST_DESCRIBE_STRUCT(Revoked, (), (rule, keepers))

/// What rules, or a person, say about a call of the lead's own.
struct Judgment {
  Action decision;
  Text rule, reason;
  std::optional<bool> by_person;
  std::optional<Verbatim> updated_input;  // JSON
};
BOOST_DESCRIBE_STRUCT(Judgment, (), (decision, rule, reason, by_person, updated_input))

}  // namespace inbox_poller::operations
