#include "schema/stream_json.hpp"

#include <algorithm>
#include <vector>

#include "schema/arguments.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::schema {

namespace {

/// One object with a few relevant members. A member of another type than expected counts as absent.
class Members {
 public:
  explicit Members(std::string_view text) : text_(text) {
    if (auto scanned = scan_object(text)) members_ = *std::move(scanned);
  }
  [[nodiscard]] std::string_view token(std::string_view name) const {
    return find_member(text_, members_, name).value_or(std::string_view());
  }
  [[nodiscard]] std::string string(std::string_view name) const {
    return decode_string(token(name)).value_or(std::string());
  }

 private:
  std::string_view text_;
  std::vector<MemberSpan> members_;
};

StreamWord decode_user(const Members& line) {
  if (line.token("isReplay") == "true") return StreamReplay{line.string("uuid")};
  return StreamWork{};
}

StreamWord decode_system(const Members& line) {
  if (line.string("subtype") != "init") return StreamOther{};
  return StreamInit{line.string("session_id"), line.string("cwd")};
}

StreamWord decode_command(const Members& line) {
  const std::string state = line.string("state");
  return StreamCommand{line.string("command_uuid"), state == "started", state == "completed" || state == "cancelled"};
}

StreamWord decode_assistant(const Members& line) {
  const Members message(line.token("message"));
  const auto parent = line.token("parent_tool_use_id");
  const bool is_subagents = !parent.empty() && parent != "null";
  if (is_subagents || message.string("model") == "<synthetic>") return StreamWork{};
  return StreamAnswer{message.string("id")};
}

StreamWord decode_result(const Members& line) {
  const std::string subtype = line.string("subtype");
  return StreamResult{line.token("is_error") == "true" || (!subtype.empty() && subtype != "success")};
}

StreamWord decode_control_request(const Members& line) {
  const Members request(line.token("request"));
  if (request.string("subtype") != "can_use_tool") return StreamOther{};
  return ToolRequest{line.string("request_id"), request.string("tool_name"), std::string(request.token("input"))};
}

std::string control_response(std::string_view request_id, const std::string& result) {
  return R"({"type":"control_response","response":{"subtype":"success","request_id":)" + quote(request_id) +
         R"(,"response":)" + result + "}}";
}

StreamWord decode_word(const Members& line) {
  const std::string type = line.string("type");
  if (type == "user") return decode_user(line);
  if (type == "system") return decode_system(line);
  if (type == "assistant") return decode_assistant(line);
  if (type == "stream_event" || type == "tool_progress") return StreamWork{};
  if (type == "result") return decode_result(line);
  if (type == "control_request") return decode_control_request(line);
  if (type == "control_cancel_request") return ToolRequestCanceled{line.string("request_id")};
  if (type == "command_lifecycle") return decode_command(line);
  return StreamOther{};
}

}  // namespace

StreamLine decode_stream_line(std::string_view text) {
  const Members line(text);
  StreamLine decoded{decode_word(line), {}};
  const auto uuids = line.token("user_message_uuids");
  if (!uuids.starts_with('[')) return decoded;
  for (const auto& place : scan_array(uuids).elements)
    if (auto uuid = decode_string(place.of(uuids))) decoded.of_lines.push_back(*std::move(uuid));
  return decoded;
}

MissingOptions missing_options(const std::vector<std::string>& argv, bool permissions) {
  MissingOptions missing;
  const auto dashes = std::find(argv.begin(), argv.end(), "--");
  const std::span<const std::string> options(argv.begin(), dashes);
  if (option_of(options, "--input-format") != "stream-json" || option_of(options, "--output-format") != "stream-json")
    return missing;
  missing.behind_dashes = dashes != argv.end();
  for (const auto* option : {"--verbose", "--replay-user-messages"})
    if (std::find(argv.begin(), dashes, option) == dashes) missing.options.emplace_back(option);
  const auto tool = option_of(options, "--permission-prompt-tool");
  if (permissions && tool.empty()) missing.options.insert(missing.options.end(), {"--permission-prompt-tool", "stdio"});
  if (permissions && !tool.empty() && tool != "stdio") missing.other_prompt_tool = tool;
  return missing;
}

std::string answered_request(std::string_view text) {
  const Members line(text);
  if (line.string("type") != "control_response") return {};
  return Members(line.token("response")).string("request_id");
}

std::string encode_user_line(std::string_view uuid, std::string_view from, std::string_view content) {
  return R"({"type":"user","uuid":)" + quote(uuid) + R"(,"message":{"role":"user","content":)" + quote(content) +
         R"(},"parent_tool_use_id":null,"origin":{"kind":"peer","from":)" + quote(from) + "}}";
}

std::string encode_tool_allowed(std::string_view request_id, std::string_view input) {
  std::string one_line(input);
  std::replace_if(
      one_line.begin(), one_line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return control_response(request_id, R"({"behavior":"allow","updatedInput":)" + one_line + "}");
}

std::string encode_tool_denied(std::string_view request_id, std::string_view message) {
  return control_response(request_id, R"({"behavior":"deny","message":)" + quote(message) + "}");
}

}  // namespace inbox_poller::schema
