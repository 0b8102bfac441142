// Text <-> payload. Tolerant reader: every spelling that protocol.md lists is accepted (camelCase and snake_case,
// `approve`/`approved`, `name` or `name@team`, host as string or object). Strict writer: exactly the one shape that clients
// 2.1.50 and 2.1.329 both honour (protocol.md A.2): the permission pair in snake_case, everything else camelCase, a timestamp in
// plan and sandbox answers, never `null`, never an empty error, no extra keys.
#pragma once

#include <string>
#include <string_view>

#include "schema/payload.hpp"

namespace inbox_poller::schema {

/// Total: any bytes give a payload. Both spellings of a field present with different values is a MalformedPayload, as is an
/// unacceptable request id. `input` and `permission_suggestions` keep their bytes.
Payload decode_payload(std::string_view text);

// Compact JSON, keys in the order the real client writes them.
std::string encode(const PermissionResponse&);
std::string encode(const SandboxPermissionResponse&);
std::string encode(const PlanApprovalResponse&);
std::string encode(const ModeSetRequest&);
std::string encode(const ShutdownRequest&);
std::string encode(const TeamPermissionUpdate&);

}  // namespace inbox_poller::schema
