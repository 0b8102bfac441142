// Any bytes as an entry's text: decoding is total, and what we would write ourselves reads back as what we meant.
#include "schema/payload.hpp"

#include "schema/codec.hpp"
#include "schema/ids.hpp"
#include "schema/json_scan.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace inbox_poller::schema;

namespace {

struct Check {
  void operator()(const PermissionRequest& ask) const {
    EXPECT(is_valid_request_id(ask.request_id));
    PermissionResponse answer{ask.request_id, true, ask.input, "", ""};
    const Payload allowed = decode_payload(encode(answer));
    const auto* back = std::get_if<PermissionResponse>(&allowed);
    EXPECT(back && back->allowed && back->request_id == ask.request_id);
    EXPECT(back->updated_input == ask.input);  // byte for byte: a number must not be spelled anew
  }
  void operator()(const PermissionResponse& answer) const {
    const Payload again = decode_payload(encode(answer));
    const auto* back = std::get_if<PermissionResponse>(&again);
    EXPECT(back && back->request_id == answer.request_id && back->allowed == answer.allowed);
  }
  void operator()(const SandboxPermissionRequest& ask) const {
    const Payload again = decode_payload(encode(SandboxPermissionResponse{ask.request_id, ask.host, true, "t"}));
    const auto* back = std::get_if<SandboxPermissionResponse>(&again);
    EXPECT(back && back->allow && back->host == ask.host && back->request_id == ask.request_id);
  }
  void operator()(const SandboxPermissionResponse&) const {}
  void operator()(const PlanApprovalRequest& ask) const {
    const Payload again =
        decode_payload(encode(PlanApprovalResponse{ask.request_id, false, ask.plan_content, "t", ""}));
    const auto* back = std::get_if<PlanApprovalResponse>(&again);
    EXPECT(back && !back->approved && back->request_id == ask.request_id);
  }
  void operator()(const PlanApprovalResponse&) const {}
  void operator()(const ModeSetRequest& request) const {
    EXPECT(std::holds_alternative<ModeSetRequest>(decode_payload(encode(request))));
  }
  void operator()(const ShutdownRequest& request) const {
    EXPECT(std::holds_alternative<ShutdownRequest>(decode_payload(encode(request))));
  }
  void operator()(const TeamPermissionUpdate&) const {}
  void operator()(const ShutdownApproved&) const {}
  void operator()(const ShutdownRejected&) const {}
  void operator()(const IdleNotification&) const {}
  void operator()(const TaskAssignment&) const {}
  void operator()(const TaskCompleted&) const {}
  void operator()(const TeammateTerminated&) const {}
  void operator()(const PlainText&) const {}
  void operator()(const UnknownPayload&) const {}
  void operator()(const MalformedPayload& payload) const { EXPECT(!payload.problem.empty()); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::visit(Check{}, decode_payload(as_text(data, size)));
  return 0;
}
