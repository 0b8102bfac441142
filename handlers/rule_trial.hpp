// Rules before they matter: what those in force say of a call that nobody makes, and which new ones the answers of
// people would have spared them. Pure; nothing is decided here.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// One part of a command line, as the rules see it.
struct TriedPart {
  std::string text;
  config::Action action = config::Action::ask;  // what would come of this part alone
  std::string rule;                             // that says so; empty: none does
  std::string reason;
};

struct Trial {
  config::Verdict verdict;
  std::string folder;            // from which relative paths start; empty: they never allow
  std::vector<TriedPart> parts;  // empty for a call that is no command, or cannot be split with certainty
};

/// As if that worker asked. Without one: from the folder in which all workers are, where that is the same one.
Trial try_rules(std::string_view tool, std::string_view input, const std::optional<std::string>& worker,
                const TeamView&);

struct Suggestion {
  std::string kind;  // "permission" or "host"
  std::string rule;
  std::size_t asks = 0;              // that people approved and this rule covers
  std::vector<std::string> askers;   // each once
  EpochMs last_ms = 0;               // when the last of them was decided
};

/// As if a worker's sandbox asked for this host.
config::Verdict try_host(std::string_view host, const TeamView&);

/// The rules that cover exactly what people approved, the most asked for first. `decided`: asks that were carried out
/// as they were asked. None for what a rule decided, what was denied or ran out at any time, or what a rule in force
/// stands against.
std::vector<Suggestion> suggest_rules(std::span<const Ask> decided, const TeamView&);

}  // namespace inbox_poller::handlers
