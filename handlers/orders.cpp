#include "handlers/orders.hpp"

#include <algorithm>

#include "config/rule_overlap.hpp"
#include "handlers/outgoing.hpp"
#include "handlers/text.hpp"
#include "schema/codec.hpp"
#include "schema/json_scan.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::handlers {

namespace {

bool takes_paths(const config::PermissionRule& rule) { return rule.tool == "Read" || rule.tool == "Edit"; }

/// Returns the directory of a rule made by team_rule(); empty for any other rule.
std::string_view folder_of(const config::PermissionRule& rule) {
  if (!takes_paths(rule) || !rule.specifier) return {};
  std::string_view path = *rule.specifier;
  if (!path.starts_with("//") || !path.ends_with("/**")) return {};
  path = path.substr(1, path.size() - 4);
  return path.empty() ? "/" : path;
}

/// Returns `directory` as it follows the leading slash ("from the root") in a rule: "/repo", or nothing for "/" itself.
Result<std::string> folder_in_rule(std::string_view directory) {
  const auto refused = [&](std::string_view why) {
    return Error{"rule.directory", "the directory " + shown(directory) + " " + std::string(why)};
  };
  if (!directory.starts_with('/')) return refused("is not absolute; write it from the root, such as \"/repo\"");
  if (directory.find_first_of("*?") != std::string_view::npos)
    return refused("holds '*' or '?', which a rule reads as a pattern; write the pattern into the rule itself");
  std::string folder;
  while (!directory.empty()) {
    const std::size_t end = std::min(directory.find('/'), directory.size());
    if (end > 0) folder.append("/").append(directory.substr(0, end));
    directory.remove_prefix(std::min(end + 1, directory.size()));
  }
  return folder;
}

}  // namespace

Post order_to(std::string_view member, std::string_view text, std::string_view origin, const TeamView& view,
                     EpochMs now_ms) {
  const std::string cause = digest_of({view.team, "order", member, origin, text});
  return post_of({view.lead, member, text, cause, now_ms}, view);
}

std::optional<NotTaken> why_no_worker(std::string_view member, const TeamView& view) {
  if (member == view.lead) return NotTaken{"member.unknown", shown(member) + " is the lead itself, not a worker of it"};
  if (view.roster.find(member)) return std::nullopt;
  if (view.roster.members.empty())
    return NotTaken{"member.unknown", "the roster of " + std::string(view.team) + " was not read yet; see `status`"};
  std::vector<std::string> workers;
  std::string names;
  for (const schema::Member& one : view.roster.members) {
    if (one.name == view.lead) continue;
    workers.push_back(one.name);
    names += (names.empty() ? "" : ", ") + one.name;
  }
  const std::string meant = schema::did_you_mean(member, workers);
  return NotTaken{"member.unknown", "team " + std::string(view.team) + " does not have the worker " + shown(member) + meant +
                                        (meant.empty() ? "; its" : " Its") + " workers are: " + (names.empty() ? "none" : names)};
}

std::optional<NotTaken> why_not_carried(std::string_view what, const TeamView& view) {
  const auto& facts = view.config.team.facts();
  if (facts.obeys) return std::nullopt;
  return NotTaken{"order.not_carried", "the team " + std::string(view.team) + " is a " + std::string(facts.noun) +
                                           " (team.backend), and " + std::string(what) +
                                           " do not exist there: its workers would not obey"};
}

std::variant<Post, NotTaken> set_mode(std::string_view member, config::PermissionMode mode,
                                             std::string_view origin, const TeamView& view, EpochMs now_ms) {
  if (auto problem = why_no_worker(member, view)) return *std::move(problem);
  if (auto problem = why_not_carried("modes", view)) return *std::move(problem);
  const std::string name(config::to_string(mode));
  if (mode > view.config.modes.ceiling) {
    return NotTaken{"mode.above_ceiling", "the mode " + name + " is wider than modes.ceiling, which is " +
                                              std::string(config::to_string(view.config.modes.ceiling))};
  }
  return order_to(member, schema::encode(schema::ModeSetRequest{name, std::string(view.lead)}), origin, view, now_ms);
}

Result<config::PermissionRule> team_rule(std::string_view text, std::string_view directory) {
  auto rule = config::parse_permission_rule(text);
  if (!rule) return Error{"rule.syntax", rule.error().message};
  if (const auto why = config::why_never_allows(*rule))
    return Error{"rule.never_allows", shown(text) + " would never allow anything: " + *why};
  if (directory.empty()) return rule;
  if (!takes_paths(*rule))
    return Error{"rule.no_paths", "only Read and Edit rules hold for a directory; " + shown(text) + " takes no paths"};
  if (rule->specifier)
    return Error{"rule.has_path", shown(text) + " says itself where it holds; give either that or a directory"};
  TRY(const auto folder, folder_in_rule(directory));
  rule = config::parse_permission_rule(config::rule_text(rule->tool, "/" + folder + "/**"));
  if (!rule) return Error{"rule.directory", rule.error().message};
  return rule;
}

std::variant<Post, NotTaken> share_rule(std::string_view member, const config::PermissionRule& rule,
                                               std::string_view origin, const TeamView& view, EpochMs now_ms) {
  if (auto problem = why_no_worker(member, view)) return *std::move(problem);
  if (auto problem = why_not_carried("rules", view)) return *std::move(problem);
  std::string update = R"({"type":"addRules","rules":[{"toolName":)" + schema::quote(rule.tool);
  if (rule.specifier) update += R"(,"ruleContent":)" + schema::quote(*rule.specifier);
  update += R"(}],"behavior":"allow","destination":"session"})";
  const std::string_view folder = folder_of(rule);
  const std::string text = schema::encode(schema::TeamPermissionUpdate{
      std::move(update), folder.empty() ? view.roster.find(member)->cwd : std::string(folder), rule.tool});
  return order_to(member, text, origin, view, now_ms);
}

std::string why_not_shared(const std::string& rule, const TeamView& view) {
  const auto parsed = config::parse_permission_rule(rule);
  if (!parsed) return "it is not a rule any more";
  return config::restriction_of(*parsed, view.rules, view.home).value_or("");
}

std::vector<Owed> owed_orders(const std::vector<Given>& given, const std::vector<SharedRule>& rules,
                              const TeamView& view) {
  std::vector<Owed> owed;
  const auto lacks = [&](const schema::Member& member, OrderKind kind, std::string_view origin) {
    return member.name != view.lead &&
           std::find(given.begin(), given.end(), Given{member.name, member.joined_at_ms, kind, origin}) == given.end();
  };
  for (const auto& member : view.roster.members) {
    const auto mode = view.config.modes.wanted(member.name);
    const std::string origin = mode ? "config " + std::string(config::to_string(*mode)) : "";
    if (mode && lacks(member, OrderKind::mode, origin)) owed.push_back({member.name, origin, mode, 0});
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto before = owed.size();
    for (const auto& member : view.roster.members)
      if (lacks(member, OrderKind::rule, rules[i].origin)) owed.push_back({member.name, rules[i].origin, std::nullopt, i});
    // The team's rules may have changed since the rule was shared.
    if (owed.size() > before && !why_not_shared(rules[i].rule, view).empty()) owed.resize(before);
  }
  return owed;
}

Adoption adoption_of(std::string_view mode, EpochMs sent_ms, const schema::Member& member,
                     const config::ModeSettings& settings, EpochMs now_ms) {
  if (member.mode == mode) return Adoption::applied;
  return now_ms - sent_ms >= settings.apply_timeout.count() ? Adoption::not_applied : Adoption::waits;
}

}  // namespace inbox_poller::handlers
