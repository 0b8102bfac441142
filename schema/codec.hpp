// Conversion between texts and payloads. Tolerant reader: every spelling ever seen is accepted (camelCase, snake_case,
// `approve`/`approved`, `name` or `name@team`, domain as string or object). `null` counts as absent, except where JSON
// is kept raw. Exception: a permission_response without `request_id` and `subtype` is malformed, because all workers
// ignore it or stop. Strict writer: exactly the form that clients 2.1.50 and 2.1.329 both obey (docs/reference/wire.md
// W15 to W22). The permission pair is in snake_case, everything else in camelCase. Plan and sandbox answers have a
// timestamp. No `null`, empty error or extra key is written.
#pragma once

#include <string>
#include <string_view>

#include "schema/payload.hpp"

namespace inbox_poller::schema {

/// Decodes any text. Two spellings of a field with different values are a MalformedPayload, and so is an invalid
/// request id. Exception: the id of a permission_response, which workers read in one spelling. `input` and
/// `permission_suggestions` keep their bytes. More than 256 levels or raw control characters in them are malformed,
/// because no strict parser would read them. The last duplicate key counts. An optional field of another type counts as
/// absent and is reported in `ignored`.
Payload decode_payload(std::string_view text, std::string* ignored = nullptr);

/// Returns the request id of a text that decode_payload() calls malformed, in either spelling; empty if the id is
/// missing or invalid.
std::string claimed_request_id(std::string_view text);

// Return compact JSON with keys in the real client's order. Omitted: an empty `updated_input` (the worker runs the
// original), feedback without a rejection, permissionMode without an approval. Empty `permission_updates` become [], an
// empty error "Denied". Raw members are written as they are, so the caller must provide valid JSON.
std::string encode(const PermissionResponse&);
std::string encode(const SandboxPermissionResponse&);
std::string encode(const PlanApprovalResponse&);
std::string encode(const ModeSetRequest&);
std::string encode(const ShutdownRequest&);
std::string encode(const TeamPermissionUpdate&);
std::string encode(const TeammateTerminated&);

}  // namespace inbox_poller::schema
