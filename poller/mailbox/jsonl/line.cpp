#include "poller/mailbox/jsonl/line.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "poller/mailbox/float_seconds.hpp"
#include "schema/codec.hpp"
#include "schema/field_reader.hpp"
#include "schema/ids.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::poller {

using namespace schema;

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// Encodes a JSON string in ASCII only, so that each reader finds one line, whatever characters end its lines.
std::string ascii(std::string_view value) {
  std::string out = "\"";
  const auto unit = [&](char32_t value_of_unit) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(value_of_unit));
    out += text.data();
  };
  for (std::size_t at = 0; at < value.size();) {
    const CodePoint point = code_point_at(value, at);
    const char32_t c = point.valid ? point.value : 0xFFFD;
    at += point.length;
    switch (c) {
      case '"': out += "\\\""; continue;
      case '\\': out += "\\\\"; continue;
      case '\n': out += "\\n"; continue;
      case '\r': out += "\\r"; continue;
      case '\t': out += "\\t"; continue;
      default: break;
    }
    if (c >= 0x20 && c <= 0x7E) {
      out += static_cast<char>(c);
    } else if (c < 0x10000) {
      unit(c);
    } else {
      unit(0xD800 + ((c - 0x10000) >> 10));
      unit(0xDC00 + ((c - 0x10000) & 0x3FF));
    }
  }
  return out += '"';
}

/// The members of a line, including those that newer programs write into `metadata`.
class JsonlFields {
 public:
  JsonlFields(std::string_view bytes, std::vector<MemberSpan> members) : bytes_(bytes), members_(std::move(members)) {}

  /// Returns the token of a member; null counts as absent.
  [[nodiscard]] std::optional<std::string_view> token(std::string_view name) const {
    auto found = find_member(bytes_, members_, name);
    if (!found || *found == "null") {
      const auto inside = find_member(bytes_, members_, "metadata");
      found = inside ? find_member(*inside, name) : std::nullopt;
    }
    return found && *found != "null" ? found : std::nullopt;
  }
  /// Returns the string, or the token's bytes if it is not a string; "" if the member is absent.
  [[nodiscard]] std::string text(std::string_view name) const {
    const auto found = token(name);
    if (!found) return "";
    return decode_string(*found).value_or(std::string(*found));
  }
  /// Returns true if the line has exactly the four members of a chat message, each once.
  [[nodiscard]] bool is_plain() const {
    constexpr std::array<std::string_view, 4> usual = {"\"type\"", "\"from\"", "\"content\"", "\"timestamp\""};
    return members_.size() == usual.size() && std::all_of(usual.begin(), usual.end(), [&](std::string_view name) {
             return std::any_of(members_.begin(), members_.end(),
                                [&](const MemberSpan& member) { return member.key.of(bytes_) == name; });
           });
  }

 private:
  std::string_view bytes_;
  std::vector<MemberSpan> members_;
};

/// Builds a canonical payload; leaves out members without a token.
std::string payload_of(std::string_view type,
                       std::initializer_list<std::pair<std::string_view, std::string>> members) {
  std::string text = "{\"type\":" + quote(type);
  for (const auto& [name, token] : members)
    if (!token.empty()) text.append(",\"").append(name).append("\":").append(token);
  return text + "}";
}

std::string quoted_if_there(const JsonlFields& line, std::string_view name) {
  return line.token(name) ? quote(line.text(name)) : "";
}

std::string plan_request(const JsonlFields& line, const Message& message) {
  return payload_of("plan_approval_request", {{"requestId", quoted_if_there(line, "request_id")},
                                              {"from", quote(message.from)},
                                              {"timestamp", quote(message.timestamp)},
                                              {"planContent", quote(line.text(line.token("plan") ? "plan" : "content"))}});
}

/// Prefixes a text that another system would read as a control message, so that it stays chat.
std::string chat_of(std::string content) {
  const bool is_chat = std::holds_alternative<PlainText>(decode_payload(content));
  return is_chat ? content : "message: " + content;
}

/// Returns the text of a line's message, by the line's type. Errors: "line.field", "line.direction", "line.type".
Result<std::string> text_of(std::string_view bytes, const JsonlFields& line, const std::string& type, const Message& message) {
  if (type == "message" || type == "broadcast" || type == "result") {
    if (!line.token("content")) return Error{"line.field", "content: expected a text, found nothing"};
    return chat_of(line.text("content"));
  }
  const bool answers = line.token("approve").has_value() || line.token("approved").has_value();
  const std::string verdict(line.token("approve").value_or(line.token("approved").value_or("")));
  if (type == "plan_approval" || type == "plan_approval_request" || (type == "plan_approval_response" && !answers))
    return plan_request(line, message);
  if (type == "plan_approval_response")
    return payload_of(type, {{"requestId", quoted_if_there(line, "request_id")}, {"approved", verdict}});
  if (type == "shutdown_response")
    return payload_of(type, {{"requestId", quoted_if_there(line, "request_id")},
                             {"from", quote(message.from)},
                             {"approve", verdict},
                             {"reason", quote(line.text("content"))}});
  if (type == "shutdown_request")
    return Error{"line.direction", "a shutdown_request to the lead: only the lead ends a worker here"};
  if (type == "error")
    return payload_of("idle_notification", {{"from", quote(message.from)},
                                            {"idleReason", "\"failed\""},
                                            {"failureReason", quote(line.text("content"))}});
  if (type == "idle_notification")
    return payload_of(type, {{"from", quote(message.from)},
                             {"idleReason", "\"available\""},
                             {"summary", quote(line.text("content"))}});
  const std::string whole = decode_string(quote(bytes)).value_or("");
  if (!std::holds_alternative<UnknownPayload>(decode_payload(whole)))
    return Error{"line.type", "a " + type + " is not carried by JSONL inboxes: an answer could not reach its sender"};
  return whole;
}

}  // namespace

JsonlGeneration generation_of(const JsonlFolders& seen) {
  if (seen.inbox) return seen.requests ? JsonlGeneration::g2 : JsonlGeneration::g1;
  return seen.task_lock || seen.hex_tasks ? JsonlGeneration::g4 : JsonlGeneration::g3;
}

Result<JsonlEntry> decode_jsonl(std::string_view bytes) {
  auto members = scan_object(bytes);
  if (!members) return Error{"line.syntax", members.error().message + " of the line"};
  const JsonlFields line(bytes, std::move(*members));
  if (const auto token = line.token("from"); token && kind_of(*token) != JsonKind::string)
    return Error{"line.field", "from: " + unexpected("a string", *token)};
  JsonlEntry entry;
  const auto said = [&](std::string_view name, std::string_view expected, bool may_be_number) {
    auto token = line.token(name);
    if (!token || kind_of(*token) == JsonKind::string || (may_be_number && kind_of(*token) == JsonKind::number)) return token;
    entry.ignored += (entry.ignored.empty() ? "" : "; ") + std::string(name) + ": " + unexpected(expected, *token);
    return token = std::nullopt;
  };
  Message& message = entry.message;
  message.from = line.text("from");
  if (message.from.empty()) return Error{"line.field", "from: expected a name, found nothing"};
  if (said("id", "a string or a number", true)) message.id = line.text("id");
  const auto time = said("timestamp", "seconds or a string", true);
  const std::string_view at = time ? *time : said("ts", "seconds or a string", true).value_or("");
  message.timestamp = at.empty() ? "" : timestamp_of_seconds(at);
  const std::string type = said("type", "a string", false) ? line.text("type") : "message";
  TRY(auto text, text_of(bytes, line, type, message));
  message.text = std::move(text);
  const auto content = line.token("content");
  entry.says_all = line.is_plain() && type == "message" && content && decode_string(*content) == message.text &&
                   seconds_of_timestamp(message.timestamp) == at && message.text.find(replacement) == std::string::npos &&
                   message.from.find(replacement) == std::string::npos;
  return entry;
}

std::optional<Message> decode_own_jsonl(std::string_view bytes) {
  if (auto entry = decode_jsonl(bytes); entry.ok()) return std::move(entry->message);
  auto members = scan_object(bytes);
  if (!members) return std::nullopt;
  const JsonlFields line(bytes, std::move(*members));
  if (line.text("type") != ShutdownRequest::type) return std::nullopt;
  Message message;
  message.from = line.text("from");
  message.timestamp = timestamp_of_seconds(line.token("timestamp").value_or(line.token("ts").value_or("0.0")));
  message.text = encode(ShutdownRequest{line.text("request_id"), message.from, line.text("content"), message.timestamp});
  return message;
}

std::string why_readers_end(std::string_view bytes) {
  if (bytes.find_first_not_of(" \t\r") == std::string_view::npos) return {};
  if (const auto members = scan_object(bytes); !members) return members.error().message;
  for (const std::string_view cut : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"})
    if (bytes.find(cut) != std::string_view::npos) return "a raw U+0085, U+2028 or U+2029 cuts it in two";
  return {};
}

std::string silenced_jsonl(std::string_view bytes) {
  auto members = scan_object(bytes);
  if (!members) return std::string(bytes);
  const JsonlFields line(bytes, std::move(*members));
  const std::string head = "{\"type\": \"message\", \"from\": " + std::string(line.token("from").value_or("\"\""));
  const auto seconds = line.token("ts");
  std::string text = head + ", \"content\": \"\", \"" + (seconds ? "ts" : "timestamp") +
                     "\": " + std::string(seconds.value_or(line.token("timestamp").value_or("0.0"))) + "}";
  if (text.size() > bytes.size()) return std::string(bytes);
  text.resize(bytes.size(), ' ');
  return text;
}

Result<std::string> encode_jsonl(const Message& message, std::string_view to, JsonlGeneration generation) {
  std::string type = message.to_all ? "broadcast" : "message", content = message.text, fields, newer_fields;
  const Payload payload = decode_payload(message.text);
  const auto field = [](std::string_view name, const std::string& token) {
    return ", \"" + std::string(name) + "\": " + token;
  };
  if (const auto* plan = std::get_if<PlanApprovalResponse>(&payload)) {
    type = PlanApprovalResponse::type;
    content = plan->feedback;
    newer_fields = field("request_id", ascii(plan->request_id)) + field("approve", plan->approved ? "true" : "false");
    fields = newer_fields + field("feedback", ascii(plan->feedback));
  } else if (const auto* stop = std::get_if<ShutdownRequest>(&payload)) {
    type = ShutdownRequest::type;
    content = stop->reason;
    fields = newer_fields = field("request_id", ascii(stop->request_id));
  } else if (std::holds_alternative<PermissionResponse>(payload) || std::holds_alternative<ModeSetRequest>(payload) ||
             std::holds_alternative<SandboxPermissionResponse>(payload) ||
             std::holds_alternative<TeamPermissionUpdate>(payload)) {
    return Error{"line.not_carried", "JSONL inboxes carry no " + std::string(type_name(payload)) +
                                         ": modes, rules, and permission and sandbox answers do not exist there"};
  }
  const std::string seconds = seconds_of_timestamp(message.timestamp);
  if (generation == JsonlGeneration::g1 || generation == JsonlGeneration::g2)
    return "{\"type\": " + ascii(type) + field("from", ascii(message.from)) + field("content", ascii(content)) +
           field("timestamp", seconds) + fields + "}\n";
  const std::string metadata = newer_fields.empty() ? "{}" : "{" + newer_fields.substr(2) + "}";
  return "{\"from\": " + ascii(message.from) + field("to", ascii(to)) + field("content", ascii(content)) +
         field("type", ascii(type)) + field("ts", seconds) + field("metadata", metadata) + "}\n";
}

}  // namespace inbox_poller::poller
