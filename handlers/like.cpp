#include "handlers/like.hpp"

#include "handlers/lead_permission.hpp"

namespace inbox_poller::handlers {

std::variant<NewRule, NotTaken> rule_like(const Request& request, const TeamView& view) {
  const auto& kind = traits_of(request.kind);
  Answer answer;
  answer.event = RequestEvent::person_approves;
  if (kind.rule != nullptr) {
    auto made = kind.rule(request, answer, true, view);
    if (auto* refused = std::get_if<NotTaken>(&made)) return *std::move(refused);
    if (auto& rule = std::get<std::optional<NewRule>>(made)) return *std::move(rule);
  }
  return NotTaken{"rule.none_safe", "no rule can be made from a " + std::string(to_string(request.kind)) +
                                        " request, so none is like it: answer each by its id"};
}

bool covers(const NewRule& rule, const Request& request, std::string_view cwd, const TeamView& view) {
  if (request.kind == RequestKind::sandbox) return rule.kind == RuleKind::host && request.subject == rule.text;
  if (request.kind != RequestKind::permission || rule.kind != RuleKind::permission) return false;
  auto parsed = config::parse_permission_rule(rule.text);
  if (!parsed) return false;
  const config::PermissionRules alone{{}, {}, {*std::move(parsed)}};
  const config::RuleContext context{std::string(cwd), std::string(view.home)};
  return config::judge_tool(alone, request.subject, request.body, context, config::Action::deny).action ==
         config::Action::allow;
}

std::optional<config::Verdict> ruled(const Request& request, std::string_view cwd, const TeamView& view) {
  if (!view.membership.may(Right::answer_by_rule)) return std::nullopt;
  if (request.asker == view.lead && !view.config.lead.permissions) return std::nullopt;
  config::Verdict verdict{config::Action::ask, {}, {}};
  if (request.kind == RequestKind::permission && !request.subject.ends_with(preview_mark))
    verdict = config::judge_tool(view.rules, request.subject, request.body, {std::string(cwd), std::string(view.home)},
                                 config::Action::ask);
  else if (request.kind == RequestKind::sandbox)
    verdict =
        config::judge_host(view.hosts, request.body.empty() ? request.subject : request.body, config::Action::ask);
  if (verdict.action == config::Action::ask || verdict.rule.empty()) return std::nullopt;
  return verdict;
}

}  // namespace inbox_poller::handlers
