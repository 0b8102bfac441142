// Every payload type, sorted once by what may become of it at the lead's side, as concepts for visitors. A type that is
// in none of these lists makes each visitor that uses them fail to compile, which is the point.
#pragma once

#include <concepts>

#include "schema/payload.hpp"

namespace inbox_poller::handlers {

template <class T, class... Types>
concept OneOf = (std::same_as<T, Types> || ...);

/// Somebody waits for our answer.
template <class T>
concept AskPayload = OneOf<T, schema::PermissionRequest, schema::SandboxPermissionRequest, schema::PlanApprovalRequest>;

/// News about a worker.
template <class T>
concept StatusPayload = OneOf<T, schema::IdleNotification, schema::TaskAssignment, schema::TaskCompleted>;

/// Not control at all, or not recognisable as such.
template <class T>
concept ContentPayload = OneOf<T, schema::PlainText, schema::UnknownPayload, schema::MalformedPayload>;

/// Travels away from the lead, or answers something that we never asked: no side may send it to us.
template <class T>
concept NeverObeyedPayload =
    OneOf<T, schema::PermissionResponse, schema::SandboxPermissionResponse, schema::PlanApprovalResponse,
          schema::ModeSetRequest, schema::ShutdownRequest, schema::ShutdownApproved, schema::ShutdownRejected,
          schema::TeamPermissionUpdate, schema::TeammateTerminated>;

}  // namespace inbox_poller::handlers
