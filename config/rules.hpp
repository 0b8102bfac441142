// Permission rules and domain patterns: what the operator allows, asks about and denies, in the syntax of the agent
// client ("Bash(git status:*)", "Edit(/repo/**)", "WebFetch(domain:github.com)", "mcp__server__tool"). Invariants: the
// order is deny, ask, allow, then the default; specificity never matters. A rule allows a Bash command only if every
// part is allowed; a command that cannot be split safely is *ask*. No error ever allows anything. Source:
// docs/reference/rules.md and its conformance table, after the client's documented rule syntax (version 2.1.240).
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

/// A grant must be certain; a restriction covers everything it may be about.
enum class Side { grant, restrict };

/// One parsed rule. `text` is the operator's, for logs and `trace`.
struct PermissionRule {
  std::string text;
  std::string tool;                      // "Bash", "Edit", "mcp__github__*", …
  std::optional<std::string> specifier;  // the meaning of the parentheses; empty for a bare tool name and for Tool(*)
  bool operator==(const PermissionRule&) const = default;
};

/// Parses one rule. In the parentheses, `\(`, `\)` and `\\` stand for the character after the backslash, as clients
/// write them. The error has an example of the expected form.
Result<PermissionRule> parse_permission_rule(std::string_view text);

/// Returns a rule's text, with the specifier's backslashes doubled.
std::string rule_text(std::string_view tool, std::string_view specifier);

/// Returns why a rule can deny or ask but never allow ("mcp__*", "WebSearch(query:x)"), which is a mistake in an allow
/// list. Empty: it can allow.
std::optional<std::string> why_never_allows(const PermissionRule&);

template <class Rule>
struct RuleSet {
  std::vector<Rule> deny;
  std::vector<Rule> ask;
  std::vector<Rule> allow;
  bool operator==(const RuleSet&) const = default;
};
using PermissionRules = RuleSet<PermissionRule>;

/// A decision and its rule. `rule` is empty if the default decided; `reason` is a sentence for people.
struct Verdict {
  Action action = Action::ask;
  std::string rule;
  std::string reason;
};

/// The starting points of relative path rules. From the roster and the configuration, never from a payload.
struct RuleContext {
  std::string cwd;   // the worker's working directory; empty if unknown (then relative rules never allow)
  std::string home;  // for "~/…" rules
};

/// Judges one tool call. `input`: the tool's input as JSON bytes. A malformed input, an unknown form or an ambiguous
/// command is at most *ask*, whatever the rules and the default say. A deny rule takes precedence over everything.
Verdict judge_tool(const PermissionRules&, std::string_view tool_name, std::string_view input_json, const RuleContext&,
                   Action default_action);

/// The allow rules' result for one part of a command line, or one redirected file.
struct PartVerdict {
  std::string part;     // as written
  std::string rule;     // covers the part; empty if none does
  std::string missing;  // a sentence: why none does
};

/// Returns every part of a command line in order, including those after the first uncovered one. Empty for a call that
/// is not a command or cannot be split safely; its verdict says why.
std::vector<PartVerdict> judge_parts(const PermissionRules&, std::string_view tool_name, std::string_view input_json,
                                     const RuleContext&);

/// Returns the narrowest allow rule for exactly this call, for `approve --always`. Empty if none is safe, as for a
/// command that cannot be split.
std::optional<std::string> rule_for_call(std::string_view tool_name, std::string_view input_json, const RuleContext&);

// --- domains ---

/// A domain in the one spelling that rules compare: lower case, no trailing dot, separate port, IPv6 shortened and
/// without brackets.
struct CanonicalHost {
  std::string name;
  std::optional<unsigned short> port;
  bool is_ip = false;
};

/// Parses a domain. Refuses wildcards, user info, paths, fragments, empty labels, control and non-ASCII characters (an
/// IDN must be in xn-- form). Also refuses numeric forms of IPv4 (2130706433, 0x7f.1), and IPv6 without brackets, which
/// may hide a port.
Result<CanonicalHost> canonical_host(std::string_view written);

struct HostPattern {
  std::string text;
  std::string name;                    // canonical; without the leading "*." if `subdomains`
  std::optional<unsigned short> port;  // none: every port
  bool subdomains = false;             // "*.example.com": any depth below, not the apex
  bool any = false;                    // "*"
  bool operator==(const HostPattern&) const = default;
};

Result<HostPattern> parse_host_pattern(std::string_view text);

/// Returns true if the pattern matches. A domain without a port matches a pattern with one only as a restriction.
bool host_matches(const HostPattern&, const CanonicalHost&, Side);

using HostRules = RuleSet<HostPattern>;

/// Judges one domain that a worker's sandbox asks for. A domain without a canonical form (a wildcard, odd characters, a
/// numeric form) is *deny*, whatever the rules and the default say.
Verdict judge_host(const HostRules&, std::string_view written_host, Action default_action);

}  // namespace inbox_poller::config
