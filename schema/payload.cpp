#include "schema/payload.hpp"

namespace inbox_poller::schema {

namespace {

struct TypeName {
  std::string_view operator()(const PlainText&) const { return "chat"; }
  std::string_view operator()(const UnknownPayload& payload) const { return payload.type; }
  std::string_view operator()(const MalformedPayload& payload) const { return payload.type; }
  std::string_view operator()(const PermissionRequest&) const { return "permission_request"; }
  std::string_view operator()(const PermissionResponse&) const { return "permission_response"; }
  std::string_view operator()(const SandboxPermissionRequest&) const { return "sandbox_permission_request"; }
  std::string_view operator()(const SandboxPermissionResponse&) const { return "sandbox_permission_response"; }
  std::string_view operator()(const PlanApprovalRequest&) const { return "plan_approval_request"; }
  std::string_view operator()(const PlanApprovalResponse&) const { return "plan_approval_response"; }
  std::string_view operator()(const ModeSetRequest&) const { return "mode_set_request"; }
  std::string_view operator()(const ShutdownRequest&) const { return "shutdown_request"; }
  std::string_view operator()(const ShutdownApproved&) const { return "shutdown_approved"; }
  std::string_view operator()(const ShutdownRejected&) const { return "shutdown_rejected"; }
  std::string_view operator()(const TeamPermissionUpdate&) const { return "team_permission_update"; }
  std::string_view operator()(const IdleNotification&) const { return "idle_notification"; }
  std::string_view operator()(const TaskAssignment&) const { return "task_assignment"; }
  std::string_view operator()(const TaskCompleted&) const { return "task_completed"; }
  std::string_view operator()(const TeammateTerminated&) const { return "teammate_terminated"; }
};

}  // namespace

std::string_view type_name(const Payload& payload) {
  return std::visit(TypeName{}, payload);
}

}  // namespace inbox_poller::schema
