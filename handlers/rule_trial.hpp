// Trials of rules: what the rules in force say about a hypothetical call, and which new rules would have answered
// people's approvals. Pure; nothing is decided here.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// One part of a command line, as the rules judge it.
struct TriedPart {
  std::string text;
  config::Action action = config::Action::ask;  // the action for this part alone
  std::string rule;                             // the rule that decides; empty: none does
  std::string reason;
};

struct Trial {
  config::Verdict verdict;
  std::string folder;            // from which relative paths start; empty: they never allow
  std::vector<TriedPart> parts;  // empty for a call that is not a command, or cannot be split safely
};

/// Judges a call as if that worker asked. Without a worker: from the directory of all workers, if they share one.
Trial try_rules(std::string_view tool, std::string_view input, const std::optional<std::string>& worker,
                const TeamView&);

struct Suggestion {
  std::string kind;  // "permission" or "host"
  std::string rule;
  std::size_t requests = 0;              // approved by people and covered by this rule
  std::vector<std::string> askers;   // without repeats
  EpochMs last_ms = 0;               // decision of the last of them
};

/// Judges a domain as if a worker's sandbox asked for it.
config::Verdict try_host(std::string_view host, const TeamView&);

/// Returns the rules that cover exactly what people approved, the most requested first. `decided`: requests that ran as
/// requested. No rule for requests that a rule decided, that were ever denied or expired, or that a rule in force
/// decides now.
std::vector<Suggestion> suggest_rules(std::span<const Request> decided, const TeamView&);

}  // namespace inbox_poller::handlers
