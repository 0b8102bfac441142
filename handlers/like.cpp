#include "handlers/like.hpp"

#include "handlers/lead_permission.hpp"

namespace inbox_poller::handlers {

std::variant<NewRule, NotTaken> rule_like(const Ask& ask, const TeamView& view) {
  const auto& kind = traits_of(ask.kind);
  Answer answer;
  answer.event = AskEvent::person_approves;
  if (kind.rule != nullptr) {
    auto made = kind.rule(ask, answer, true, view);
    if (auto* refused = std::get_if<NotTaken>(&made)) return *std::move(refused);
    if (auto& rule = std::get<std::optional<NewRule>>(made)) return *std::move(rule);
  }
  return NotTaken{"rule.none_safe", "no rule can be made from a " + std::string(to_string(ask.kind)) +
                                        " request, so none is like it: answer each by its id"};
}

bool covers(const NewRule& rule, const Ask& ask, std::string_view cwd, const TeamView& view) {
  if (ask.kind == AskKind::sandbox) return rule.kind == "host" && ask.subject == rule.text;
  if (ask.kind != AskKind::permission || rule.kind != "permission") return false;
  auto parsed = config::parse_permission_rule(rule.text);
  if (!parsed) return false;
  const config::PermissionRules alone{{}, {}, {*std::move(parsed)}};
  const config::RuleContext context{std::string(cwd), std::string(view.home)};
  return config::judge_tool(alone, ask.subject, ask.body, context, config::Action::deny).action ==
         config::Action::allow;
}

std::optional<config::Verdict> ruled(const Ask& ask, std::string_view cwd, const TeamView& view) {
  if (!view.standing.may(Right::answer_by_rule)) return std::nullopt;
  if (ask.asker == view.lead && !view.config.lead.permissions) return std::nullopt;
  config::Verdict verdict{config::Action::ask, {}, {}};
  if (ask.kind == AskKind::permission && !ask.subject.ends_with(preview_mark))
    verdict = config::judge_tool(view.rules, ask.subject, ask.body, {std::string(cwd), std::string(view.home)},
                                 config::Action::ask);
  else if (ask.kind == AskKind::sandbox)
    verdict = config::judge_host(view.hosts, ask.body.empty() ? ask.subject : ask.body, config::Action::ask);
  if (verdict.action == config::Action::ask || verdict.rule.empty()) return std::nullopt;
  return verdict;
}

}  // namespace inbox_poller::handlers
