// Permission rules and host patterns: what the operator allows, asks about and denies, in the syntax people already use
// for their agent client ("Bash(git status:*)", "Edit(/repo/**)", "WebFetch(domain:github.com)", "mcp__server__tool").
// Invariants: the order is deny, ask, allow, and the default after that; specificity never matters. A rule allows a
// Bash command only when every part of it is allowed; a command that cannot be split with certainty is *ask*. Nothing
// here is ever allowed by an error. Source: docs/reference/rules.md and its conformance table, after
// the documented rule syntax of the agent client (version 2.1.240).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"
#include "schema/names.hpp"

namespace inbox_poller::config {

BOOST_DEFINE_ENUM_CLASS(Action, deny, ask, allow)
inline std::string_view to_string(Action action) { return schema::name_of(action); }

/// A grant must be certain; a restriction meets whatever it could be about.
enum class Side { grant, restrict };

/// One parsed rule. `text` is what the operator wrote and what logs and `trace` show.
struct PermissionRule {
  std::string text;
  std::string tool;                      // "Bash", "Edit", "mcp__github__*", …
  std::optional<std::string> specifier;  // what the parentheses mean; empty for a bare tool name and for Tool(*)
  bool operator==(const PermissionRule&) const = default;
};

/// Reads one rule. In the parentheses `\(`, `\)` and `\\` stand for the sign behind the backslash, as clients write
/// them. The error says what is wrong and gives an example of what is expected.
Result<PermissionRule> parse_permission_rule(std::string_view text);

/// A rule as it is written: its specifier with backslashes doubled.
std::string rule_text(std::string_view tool, std::string_view specifier);

/// A rule that can deny or ask but would never allow anything, with the reason ("mcp__*", "WebSearch(query:x)"): a
/// mistake in an allow list. Empty: it can allow.
std::optional<std::string> why_never_allows(const PermissionRule&);

template <class Rule>
struct RuleSet {
  std::vector<Rule> deny;
  std::vector<Rule> ask;
  std::vector<Rule> allow;
  bool operator==(const RuleSet&) const = default;
};
using PermissionRules = RuleSet<PermissionRule>;

/// What the rules say, and which of them said it. `rule` is empty when the default decided; `reason` is a sentence for
/// people.
struct Verdict {
  Action action = Action::ask;
  std::string rule;
  std::string reason;
};

/// Where relative path rules start from. Comes from the roster and the configuration, never from a payload.
struct RuleContext {
  std::string cwd;   // the asking worker's working directory; empty when unknown (then relative rules never allow)
  std::string home;  // for "~/…" rules
};

/// Judges one tool call. `input` is the tool's input as JSON bytes. A malformed input, an unknown shape or an ambiguous
/// command is at most *ask*, whatever the rules and the default say; an explicit deny wins over everything.
Verdict judge_tool(const PermissionRules&, std::string_view tool_name, std::string_view input_json, const RuleContext&,
                   Action default_action);

/// What the allow rules say of one part of a command line, or of one file that it redirects to or from.
struct PartVerdict {
  std::string part;     // as written
  std::string rule;     // that covers it; empty when none does
  std::string missing;  // a sentence: why none does
};

/// Every part of a command line, in order, also those behind the first that no rule covers. Empty for a call that is no
/// command, or one that cannot be split with certainty: its verdict says why.
std::vector<PartVerdict> judge_parts(const PermissionRules&, std::string_view tool_name, std::string_view input_json,
                                     const RuleContext&);

/// The narrowest allow rule that covers exactly this call, for `approve --always`; empty when there is no safe one (for
/// example a command that is ask because it cannot be split).
std::optional<std::string> rule_for_call(std::string_view tool_name, std::string_view input_json, const RuleContext&);

// --- hosts ---

/// A host as an asker wrote it, in the one spelling that rules are compared in: lower case, no trailing dot, port split
/// off, IPv6 without brackets and shortened.
struct CanonicalHost {
  std::string name;
  std::optional<unsigned short> port;
  bool is_ip = false;
};

/// Refuses everything that is not plainly a host: wildcards, user info, paths, fragments, control or non-ASCII
/// characters (an IDN must come as xn--), empty labels, numeric shorthands of IPv4 (2130706433, 0x7f.1), IPv6 without
/// brackets (it may hide a port).
Result<CanonicalHost> canonical_host(std::string_view written);

struct HostPattern {
  std::string text;
  std::string name;                    // canonical; without the leading "*." when `subdomains`
  std::optional<unsigned short> port;  // none: every port
  bool subdomains = false;             // "*.example.com": any depth below, not the apex
  bool any = false;                    // "*"
  bool operator==(const HostPattern&) const = default;
};

Result<HostPattern> parse_host_pattern(std::string_view text);

/// A host without a port meets a pattern with one only where that restricts.
bool host_matches(const HostPattern&, const CanonicalHost&, Side);

using HostRules = RuleSet<HostPattern>;

/// Judges one host that a worker's sandbox asks for. What does not canonicalise (a wildcard, odd characters, a numeric
/// shorthand) is *deny* whatever the rules and the default say, with the reason in the verdict.
Verdict judge_host(const HostRules&, std::string_view written_host, Action default_action);

}  // namespace inbox_poller::config
