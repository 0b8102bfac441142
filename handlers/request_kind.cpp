#include "handlers/request_kind.hpp"

#include <algorithm>
#include <array>

#include "handlers/kinds.hpp"
#include "handlers/permission.hpp"
#include "handlers/plan_approval.hpp"
#include "handlers/sandbox.hpp"
#include "handlers/stop.hpp"

namespace inbox_poller::handlers {
namespace {

using Config = config::TeamConfig;

constexpr std::array kinds{
    RequestTraits{RequestKind::permission, schema::PermissionRequest::type, schema::PermissionResponse::type,
            [](const Config& config) { return config.permissions.timeout; },
            [](const Config& config) { return config.permissions.approver; },
            [](const Request& decided, const Grant& grant) { return permission_answer(decided, grant.input); },
            " asks to use a tool. The tool, and its whole input:\n", permission_card, permission_rule},
    RequestTraits{RequestKind::sandbox, schema::SandboxPermissionRequest::type, schema::SandboxPermissionResponse::type,
            [](const Config& config) { return config.sandbox.timeout; },
            [](const Config& config) { return config.sandbox.approver; },
            [](const Request& decided, const Grant&) { return sandbox_answer(decided); },
            " asks to reach a host from its sandbox. The host:\n", sandbox_card, sandbox_rule},
    RequestTraits{RequestKind::plan, schema::PlanApprovalRequest::type, schema::PlanApprovalResponse::type,
            [](const Config& config) { return config.plans.timeout; },
            [](const Config& config) { return config.plans.approver; },
            [](const Request& decided, const Grant& grant) { return plan_answer(decided, grant.mode); },
            " asks for approval of a plan. Its file (not opened by us), and the whole plan:\n", plan_card, nullptr},
    RequestTraits{RequestKind::stop, schema::ShutdownRequest::type, schema::PlainText::type,
            [](const Config& config) { return config.shutdown.timeout; },
            [](const Config& config) { return config.shutdown.approver; },
            [](const Request& decided, const Grant&) { return stop_refusal(decided); },
            " asks to stop. Approving sends it a shutdown request and, once it agrees, ends its process and removes it "
            "from the team; denying lets it go on, with your reason. Its own reason:\n",
            stop_card, nullptr}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i].kind != static_cast<RequestKind>(i)) return false;
  return true;
}
static_assert(is_in_order() && kinds.size() == static_cast<std::size_t>(RequestKind::stop) + 1);

// One for each type of answer; otherwise verdict_of() does not compile.
bool allows(const schema::PermissionResponse& answer) { return answer.allowed; }
bool allows(const schema::SandboxPermissionResponse& answer) { return answer.allow; }
bool allows(const schema::PlanApprovalResponse& answer) { return answer.approved; }

const RequestTraits* kind_where(std::string_view RequestTraits::*member, std::string_view type) {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const RequestTraits& kind) { return kind.*member == type; });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace

const RequestTraits& traits_of(RequestKind kind) { return kinds.at(static_cast<std::size_t>(kind)); }
const RequestTraits* kind_asked_by(std::string_view type) { return kind_where(&RequestTraits::type, type); }
const RequestTraits* kind_answered_by(std::string_view type) {
  return type == schema::PlainText::type ? nullptr : kind_where(&RequestTraits::answer_type, type);
}

std::optional<bool> verdict_of(const schema::Payload& payload) {
  const auto says = [](const auto& any) -> std::optional<bool> {
    if constexpr (VerdictPayload<std::remove_cvref_t<decltype(any)>>)
      return allows(any);
    else
      return std::nullopt;
  };
  return std::visit(says, payload);
}

bool is_from_lead_only(const schema::Payload& payload) {
  const auto is = [](const auto& any) {
    using T = std::remove_cvref_t<decltype(any)>;
    return VerdictPayload<T> || std::same_as<T, schema::ShutdownRequest>;
  };
  return std::visit(is, payload);
}

}  // namespace inbox_poller::handlers
