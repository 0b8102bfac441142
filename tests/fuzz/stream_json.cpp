// Any bytes as what a headless client writes: cut into the same lines whatever the pieces were, read without a fault,
// and answered by single lines that say nothing but what was meant.
#include "schema/stream_json.hpp"

#include <algorithm>

#include "poller/cli/lead_run/line_cutter.hpp"
#include "schema/json_scan.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_stream_json {

using namespace inbox_poller::schema;

namespace {

bool is_one_object(const std::string& line) {
  return line.find_first_of("\n\r") == std::string::npos && scan_object(line).ok();
}

std::string_view inside(std::string_view object, std::initializer_list<std::string_view> path) {
  for (const std::string_view name : path) object = find_member(object, name).value_or("");
  return object;
}

/// As a value, bytes that are no text being U+FFFD.
std::string as_read(std::string_view text) { return decode_string(quote(text)).value(); }

struct Check {
  void operator()(const ToolRequest& request) const {
    const std::string denied = encode_tool_denied(request.request_id, request.tool);
    EXPECT(is_one_object(denied) && answered_request(denied) == request.request_id);
    EXPECT(inside(denied, {"response", "response", "behavior"}) == "\"deny\"");
    if (request.input.empty()) return;
    const std::string allowed = encode_tool_allowed(request.request_id, request.input);
    EXPECT(is_one_object(allowed) && answered_request(allowed) == request.request_id);
    EXPECT(inside(allowed, {"response", "response", "behavior"}) == "\"allow\"");
    std::string on_one_line = request.input;
    std::replace(on_one_line.begin(), on_one_line.end(), '\r', ' ');
    std::replace(on_one_line.begin(), on_one_line.end(), '\n', ' ');
    EXPECT(inside(allowed, {"response", "response", "updatedInput"}) == on_one_line);
    for (const std::string& answer : {denied, allowed})
      EXPECT(std::holds_alternative<StreamOther>(decode_stream_line(answer).said));
  }
  void operator()(const auto&) const {}
};

void check_user_line(std::string_view from, std::string_view content) {
  const std::string line = encode_user_line("0-1", from, content);
  EXPECT(is_one_object(line) && answered_request(line).empty());
  EXPECT(std::holds_alternative<StreamWork>(decode_stream_line(line).said));
  EXPECT(inside(line, {"origin", "kind"}) == "\"peer\"");
  EXPECT(decode_string(inside(line, {"origin", "from"})) == as_read(from));
  EXPECT(decode_string(inside(line, {"message", "content"})) == as_read(content));
}

std::vector<std::string> lines_of(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> lines;
  inbox_poller::poller::cli::LineCutter cutter(64);
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    cutter.feed(bytes.substr(at, piece), [&](std::string_view line) { lines.emplace_back(line); });
  lines.push_back(cutter.take_rest());
  lines.push_back(std::to_string(cutter.take_left_out()));
  return lines;
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  std::visit(Check{}, decode_stream_line(text).said);
  static_cast<void>(answered_request(text));
  check_user_line(text.substr(0, size / 8), text.substr(size / 8));
  if (size > 0) EXPECT(lines_of(text, 1U + data[0] % 16) == lines_of(text, size));
  return 0;
}

const Target registered("stream_json", try_one);

}  // namespace inbox_poller::fuzz::of_stream_json
