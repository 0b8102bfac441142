// Every payload type, sorted once by who says it to whom, as concepts for visitors. A type that is
// in none of these lists makes each visitor that uses them fail to compile, which is the point.
#pragma once

#include <concepts>

#include "schema/payload.hpp"

namespace inbox_poller::handlers {

template <class T, class... Types>
concept OneOf = (std::same_as<T, Types> || ...);

/// Somebody waits for our answer. A shutdown_request is one when a worker writes it to the lead: it wishes to stop. In
/// the other direction it is the lead's order.
template <class T>
concept AskPayload = OneOf<T, schema::PermissionRequest, schema::SandboxPermissionRequest, schema::PlanApprovalRequest,
                           schema::ShutdownRequest>;

/// News about a worker.
template <class T>
concept StatusPayload = OneOf<T, schema::IdleNotification, schema::TaskAssignment, schema::TaskCompleted>;

/// Not control at all, or not recognisable as such.
template <class T>
concept ContentPayload = OneOf<T, schema::PlainText, schema::UnknownPayload, schema::MalformedPayload>;

/// The lead answers an ask.
template <class T>
concept VerdictPayload =
    OneOf<T, schema::PermissionResponse, schema::SandboxPermissionResponse, schema::PlanApprovalResponse>;

/// The lead orders something, and nobody else ever does.
template <class T>
concept OrderPayload = OneOf<T, schema::ModeSetRequest, schema::TeamPermissionUpdate>;

/// A worker answers the order to end.
template <class T>
concept ShutdownAnswerPayload = OneOf<T, schema::ShutdownApproved, schema::ShutdownRejected>;

/// Travels away from the lead: no side may send it there.
template <class T>
concept NeverObeyedPayload = VerdictPayload<T> || OrderPayload<T> || OneOf<T, schema::TeammateTerminated>;

}  // namespace inbox_poller::handlers
