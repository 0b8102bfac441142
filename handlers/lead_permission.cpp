#include "handlers/lead_permission.hpp"

namespace inbox_poller::handlers {

config::Verdict judge_lead(std::string_view tool, std::string_view input, std::string_view cwd, const TeamView& view) {
  if (!view.config.lead.permissions)
    return {config::Action::ask, "lead.permissions", "the lead's own prompts are not ours to answer"};
  const config::RuleContext context{std::string(cwd), std::string(view.home)};
  return config::judge_tool(view.rules, tool, input, context, view.config.permissions.default_action);
}

}  // namespace inbox_poller::handlers
