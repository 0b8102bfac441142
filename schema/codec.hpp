// Text <-> payload. Tolerant reader: every spelling that was ever seen is accepted (camelCase and
// snake_case, `approve`/`approved`, `name` or `name@team`, host as string or object); `null` counts as absent, except
// where JSON is kept raw. One exception, a permission_response without `request_id` and `subtype`: all workers ignore
// it or stop, so it is malformed here too and never mistaken for an answer. Strict writer: exactly the one shape that
// clients 2.1.50 and 2.1.329 both honour (docs/reference/wire.md W15 to W22): the permission pair in snake_case, everything else
// camelCase, a timestamp in plan and sandbox answers, never `null`, never an empty error, no extra keys.
#pragma once

#include <string>
#include <string_view>

#include "schema/payload.hpp"

namespace inbox_poller::schema {

/// Total: any bytes give a payload. Both spellings of a field present with different values is a MalformedPayload (but
/// for the id of a permission_response, of which workers see only one), as is an unacceptable request id. `input` and
/// `permission_suggestions` keep their bytes; nested deeper than 256 levels or with raw control characters they are
/// malformed, since no strict parser would read them. Of duplicate keys the last one counts. An optional field of another
/// type counts as absent; `ignored` then names it and what was found.
Payload decode_payload(std::string_view text, std::string* ignored = nullptr);

/// The request id that a text seems to be about, in either spelling; empty when there is none that we would keep. For
/// messages that decode_payload() calls malformed.
std::string claimed_request_id(std::string_view text);

// Compact JSON, keys in the order the real client writes them. An empty `updated_input` is left out (the worker then
// runs the original), empty `permission_updates` are [], an empty error says "Denied", feedback goes only with a
// rejection and permissionMode only with an approval. Raw members are written as they are: whoever fills them answers
// for their being JSON.
std::string encode(const PermissionResponse&);
std::string encode(const SandboxPermissionResponse&);
std::string encode(const PlanApprovalResponse&);
std::string encode(const ModeSetRequest&);
std::string encode(const ShutdownRequest&);
std::string encode(const TeamPermissionUpdate&);
std::string encode(const TeammateTerminated&);

}  // namespace inbox_poller::schema
