// Concepts that sort every payload type once by sender and receiver. A type in none of these lists makes the visitors
// that use them fail to compile.
#pragma once

#include <concepts>

#include "schema/payload.hpp"

namespace inbox_poller::handlers {

template <class T, class... Types>
concept OneOf = (std::same_as<T, Types> || ...);

/// A request that waits for an answer. A shutdown_request from a worker to the lead is a request to stop; in the other
/// direction it is the lead's order.
template <class T>
concept RequestPayload = OneOf<T, schema::PermissionRequest, schema::SandboxPermissionRequest,
                               schema::PlanApprovalRequest, schema::ShutdownRequest>;

/// A report about a worker.
template <class T>
concept StatusPayload = OneOf<T, schema::IdleNotification, schema::TaskAssignment, schema::TaskCompleted>;

/// Not control, or not recognizable as control.
template <class T>
concept ContentPayload = OneOf<T, schema::PlainText, schema::UnknownPayload, schema::MalformedPayload>;

/// The lead's answer to a request.
template <class T>
concept VerdictPayload =
    OneOf<T, schema::PermissionResponse, schema::SandboxPermissionResponse, schema::PlanApprovalResponse>;

/// An order that only the lead gives.
template <class T>
concept OrderPayload = OneOf<T, schema::ModeSetRequest, schema::TeamPermissionUpdate>;

/// A worker's answer to the order to end.
template <class T>
concept ShutdownAnswerPayload = OneOf<T, schema::ShutdownApproved, schema::ShutdownRejected>;

/// Payloads that only the lead sends, so that none is accepted in the lead's inbox.
template <class T>
concept NeverObeyedPayload = VerdictPayload<T> || OrderPayload<T> || OneOf<T, schema::TeammateTerminated>;

}  // namespace inbox_poller::handlers
