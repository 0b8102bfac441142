// Any bytes as an entry's text: decoding is total, and what we would write ourselves reads back as what we meant.
#include "schema/payload.hpp"

#include "schema/codec.hpp"
#include "schema/ids.hpp"
#include "schema/json_scan.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_payload {

using namespace inbox_poller::schema;

namespace {

/// Every spelling of the id that the text has says the same, or the decoder would have had to choose. Not of a
/// permission_response: workers see only one of its spellings, and that one is the answer that they act on.
void check_one_id(std::string_view text, const std::string& id) {
  EXPECT(is_valid_request_id(id));
  EXPECT(claimed_request_id(text) == id);
  for (const std::string_view name : {"requestId", "request_id"}) {
    const auto value = find_member(text, name);
    EXPECT(!value || *value == "null" || decode_string(*value) == id);
  }
}

/// What we write reads back as the same, and is written the same again.
template <class T>
T read_back(const T& payload) {
  const std::string written = encode(payload);
  EXPECT(scan_object(written).ok());
  const Payload again = decode_payload(written);
  const auto* back = std::get_if<T>(&again);
  EXPECT(back != nullptr && encode(*back) == written);
  return *back;
}

struct Check {
  std::string_view text;

  void operator()(const PermissionRequest& request) const {
    check_one_id(text, request.request_id);
    const auto allowed = read_back(PermissionResponse{request.request_id, true, request.input, "", ""});
    EXPECT(allowed.allowed && allowed.request_id == request.request_id);
    EXPECT(allowed.updated_input == request.input);  // byte for byte: a number must not be spelled anew
    const auto denied = read_back(PermissionResponse{request.request_id, false, "", "", request.description});
    EXPECT(!denied.allowed && denied.request_id == request.request_id && denied.updated_input.empty());
  }
  void operator()(const PermissionResponse& answer) const {
    EXPECT(is_valid_request_id(answer.request_id));
    EXPECT(decode_string(find_member(text, "request_id").value_or("")) == answer.request_id);
    const auto back = read_back(answer);
    EXPECT(back.request_id == answer.request_id && back.allowed == answer.allowed);
  }
  void operator()(const SandboxPermissionRequest& request) const {
    check_one_id(text, request.request_id);
    const auto back = read_back(SandboxPermissionResponse{request.request_id, request.host, true, "t"});
    EXPECT(back.allow && back.host == request.host && back.request_id == request.request_id);
  }
  void operator()(const SandboxPermissionResponse& answer) const {
    check_one_id(text, answer.request_id);
    EXPECT(read_back(answer).allow == answer.allow);
  }
  void operator()(const PlanApprovalRequest& request) const {
    check_one_id(text, request.request_id);
    const auto back = read_back(PlanApprovalResponse{request.request_id, false, request.plan_content, "t", ""});
    EXPECT(!back.approved && back.request_id == request.request_id && back.feedback == request.plan_content);
  }
  void operator()(const PlanApprovalResponse& answer) const {
    check_one_id(text, answer.request_id);
    EXPECT(read_back(answer).approved == answer.approved);
  }
  void operator()(const ModeSetRequest& request) const { EXPECT(read_back(request).mode == request.mode); }
  void operator()(const ShutdownRequest& request) const {
    check_one_id(text, request.request_id);
    EXPECT(read_back(request).reason == request.reason);
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

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  std::visit(Check{text}, decode_payload(text));
  return 0;
}

const Target registered("payload", try_one);

}  // namespace inbox_poller::fuzz::of_payload
