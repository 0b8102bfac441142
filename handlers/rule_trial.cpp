#include "handlers/rule_trial.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "handlers/request_kind.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::handlers {

namespace {

std::string folder_of(const std::optional<std::string>& worker, const TeamView& view) {
  std::set<std::string> folders;
  for (const schema::Member& member : view.roster.members)
    if (worker ? member.name == *worker : member.name != view.lead) folders.insert(member.cwd);
  return folders.size() == 1 ? *folders.begin() : std::string();
}

TriedPart tried(const config::PartVerdict& part, const config::Verdict& alone, config::Action fallback) {
  const bool restricted = !alone.rule.empty() && alone.action != config::Action::allow;
  if (restricted) return {part.part, alone.action, alone.rule, alone.reason};
  if (part.missing.empty()) return {part.part, config::Action::allow, part.rule, ""};
  return {part.part, fallback, "", part.missing};
}

bool by_person(const Request& request, const TeamView& view) {
  static constexpr std::string_view others[] = {"rule", "hook", "deadline", "limit", "roster", ""};
  return request.decided_by != view.lead && std::ranges::find(others, request.decided_by) == std::end(others);
}

/// Returns kind and text of the rule for exactly this request.
std::optional<std::pair<std::string, std::string>> rule_of(const Request& request, const TeamView& view) {
  const auto make = traits_of(request.kind).rule;
  if (make == nullptr) return std::nullopt;
  const Answer approval{.event = RequestEvent::person_approves, .by = request.decided_by, .reason = {}, .updated_input = {},
                        .mode = {}};
  const RuleOfAnswer made = make(request, approval, true, view);
  const auto* rule = std::get_if<std::optional<NewRule>>(&made);
  if (rule == nullptr || !*rule) return std::nullopt;
  return std::pair{std::string(to_string((*rule)->kind)), (*rule)->text};
}

config::RuleContext context_of(const Request& request, const TeamView& view) {
  const schema::Member* member = view.roster.find(request.asker);
  return {member != nullptr ? member->cwd : std::string(), std::string(view.home)};
}

/// Returns the action by these rules, without the settings' defaults.
config::Action judged(const Request& request, const config::PermissionRules& rules, const config::HostRules& hosts,
                      const TeamView& view) {
  if (request.kind == RequestKind::sandbox) return config::judge_host(hosts, request.body, config::Action::ask).action;
  return config::judge_tool(rules, request.subject, request.body, context_of(request, view), config::Action::ask)
      .action;
}

/// Returns true if no rule covers the request, and this rule would allow it.
bool would_help(const Request& request, const std::pair<std::string, std::string>& rule, const TeamView& view) {
  if (judged(request, view.rules, view.hosts, view) != config::Action::ask) return false;
  config::PermissionRules rules = view.rules;
  config::HostRules hosts = view.hosts;
  if (request.kind == RequestKind::sandbox) {
    auto pattern = config::parse_host_pattern(rule.second);
    if (!pattern) return false;
    hosts.allow.push_back(*std::move(pattern));
  } else {
    auto parsed = config::parse_permission_rule(rule.second);
    if (!parsed) return false;
    rules.allow.push_back(*std::move(parsed));
  }
  return judged(request, rules, hosts, view) == config::Action::allow;
}

}  // namespace

Trial try_rules(std::string_view tool, std::string_view input, const std::optional<std::string>& worker,
                const TeamView& view) {
  const config::RuleContext context{folder_of(worker, view), std::string(view.home)};
  const config::Action fallback = view.config.permissions.default_action;
  Trial trial{config::judge_tool(view.rules, tool, input, context, fallback), context.cwd, {}};
  for (const auto& part : config::judge_parts(view.rules, tool, input, context)) {
    const std::string alone = R"({"command":)" + schema::quote(part.part) + '}';
    trial.parts.push_back(tried(part, config::judge_tool(view.rules, tool, alone, context, fallback), fallback));
  }
  return trial;
}

config::Verdict try_host(std::string_view host, const TeamView& view) {
  return config::judge_host(view.hosts, host, view.config.sandbox.default_action);
}

std::vector<Suggestion> suggest_rules(std::span<const Request> decided, const TeamView& view) {
  std::map<std::pair<std::string, std::string>, Suggestion> found;
  std::set<std::pair<std::string, std::string>> refused;
  for (const Request& request : decided) {
    const auto rule = rule_of(request, view);
    if (!rule) continue;
    if (request.state == RequestState::denied || request.state == RequestState::expired) refused.insert(*rule);
    if (request.state != RequestState::approved || !by_person(request, view) || !would_help(request, *rule, view))
      continue;
    Suggestion& suggestion = found[*rule];
    suggestion.kind = rule->first;
    suggestion.rule = rule->second;
    ++suggestion.requests;
    suggestion.last_ms = std::max(suggestion.last_ms, request.decided_ms);
    if (std::ranges::find(suggestion.askers, request.asker) == suggestion.askers.end())
      suggestion.askers.push_back(request.asker);
  }
  std::vector<Suggestion> list;
  for (auto& [rule, suggestion] : found)
    if (!refused.contains(rule)) list.push_back(std::move(suggestion));
  std::ranges::stable_sort(list, [](const auto& a, const auto& b) { return a.requests > b.requests; });
  return list;
}

}  // namespace inbox_poller::handlers
