// Any bytes from a client of the MCP server: what a line means is total; whatever is wrong with it has one answer, which
// is one line of JSON; an id comes back as it came; what a tool would get fits its own table.
#include <boost/json.hpp>

#include "poller/cli/mcp/rpc.hpp"
#include "poller/cli/mcp/tools.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_mcp_line {

using namespace inbox_poller::poller::cli::mcp;
namespace json = boost::json;

namespace {

json::object one_line(const std::string& line) {
  EXPECT(!line.empty() && line.find('\n') == line.size() - 1);
  json::parse_options options;
  options.max_depth = 2 * deepest;
  boost::system::error_code problem;
  const json::value value = json::parse(line, problem, {}, options);
  EXPECT(!problem && value.is_object() && value.get_object().at("jsonrpc") == json::value("2.0"));
  return value.get_object();
}

bool may_be_id(const json::value& id) { return id.is_int64() || id.is_uint64() || id.is_string(); }

void check_call(const json::object& arguments) {
  for (const Tool& tool : tools()) {
    const auto problem = problem_of(tool, arguments);
    if (problem) {
      EXPECT(!problem->empty() && problem->size() < 1000);
      continue;
    }
    for (const Argument& argument : tool.arguments) {
      EXPECT(!argument.required || arguments.contains(argument.name));
      if (argument.kind == Kind::seconds || argument.kind == Kind::lease) {
        const double seconds = seconds_in(arguments, argument.name, default_wait_s);
        EXPECT(seconds >= 0 && seconds <= longest_wait_s);
      }
    }
    json::object answer{{"message", arguments}, {"task", arguments}, {"tasks", json::array{arguments}}};
    clip(answer, tool.answer, "elsewhere");
  }
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const Incoming incoming = read_line(text.substr(0, text.find('\n')));
  if (const auto* const faulty = std::get_if<Faulty>(&incoming)) {
    EXPECT(faulty->id.is_null() || may_be_id(faulty->id));
    const auto answer = one_line(error_line(*faulty, {{"data", "x"}}));
    EXPECT(answer.at("id") == faulty->id && answer.at("error").as_object().at("code").is_int64());
  }
  if (const auto* const request = std::get_if<Request>(&incoming)) {
    EXPECT(may_be_id(request->id));
    EXPECT(one_line(result_line(request->id, request->params)).at("id") == request->id);
    check_call(request->params);
    if (const auto* const arguments = request->params.if_contains("arguments"); arguments && arguments->is_object())
      check_call(arguments->get_object());
  }
  if (const auto* const said = std::get_if<Notification>(&incoming)) {
    EXPECT(one_line(notification_line(said->method, said->params)).contains("method"));
  }
  return 0;
}

const Target registered("mcp_line", try_one);

}  // namespace inbox_poller::fuzz::of_mcp_line
