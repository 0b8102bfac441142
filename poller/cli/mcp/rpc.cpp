#include "poller/cli/mcp/rpc.hpp"

#include <boost/json.hpp>
#include <utility>

#include "schema/envelope.hpp"
#include "schema/json_scan.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller::cli::mcp {

namespace json = boost::json;

namespace {

/// Parses a line, also one with broken UTF-8: some clients cut texts within a character, and wait for an answer.
json::value parse(std::string_view line, boost::system::error_code& problem) {
  json::parse_options options;
  options.max_depth = deepest;
  json::value value = json::parse(line, problem, {}, options);
  if (!problem || problem == json::error::too_deep) return value;
  const std::string mended = schema::make_parsable(line);
  if (mended == line) return value;
  problem = {};
  return json::parse(mended, problem, {}, options);
}

std::string line_of(json::object message) {
  return schema::printable_json(schema::make_parsable(schema::strict_json(message))) + '\n';
}

}  // namespace

bool is_id(const json::value& id) {
  return id.is_int64() || id.is_uint64() || (id.is_string() && id.get_string().size() <= longest_id);
}

Incoming read_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return Nothing{};
  boost::system::error_code problem;
  json::value value = parse(line, problem);
  if (problem == json::error::too_deep)
    return Faulty{nullptr, Code::no_request, "nested deeper than " + std::to_string(deepest) + " levels"};
  if (problem) return Faulty{nullptr, Code::not_json, "this line is not JSON: " + problem.message()};
  if (value.is_array()) return Faulty{nullptr, Code::no_request, "batches are not part of this protocol: one message a line"};
  if (!value.is_object()) return Faulty{nullptr, Code::no_request, "a message is a JSON object"};
  auto& object = value.get_object();
  const json::value* const id = object.if_contains("id");
  Faulty faulty{id != nullptr && is_id(*id) ? *id : json::value(), Code::no_request, {}};
  const auto refused = [&](std::string why) {
    faulty.message = std::move(why);
    return faulty;
  };
  const json::value* const version = object.if_contains("jsonrpc");
  if (version == nullptr || *version != "2.0") return refused("\"jsonrpc\" must be \"2.0\"");
  json::value* const method = object.if_contains("method");
  if (method == nullptr && (object.contains("result") || object.contains("error"))) return Nothing{};
  if (method == nullptr || !method->is_string()) return refused("\"method\" must be a text");
  std::string name(method->get_string());
  json::value* const params = object.if_contains("params");
  const bool has_object = params == nullptr || params->is_object();
  json::object given = params == nullptr || !has_object ? json::object() : std::move(params->get_object());
  if (id == nullptr) return Notification{std::move(name), std::move(given)};
  if (!is_id(*id)) return refused("\"id\" must be a whole number or a text of at most 256 bytes");
  if (has_object) return Request{*id, std::move(name), std::move(given)};
  faulty.code = Code::bad_params;
  return refused("\"params\" must be an object");
}

Faulty too_long() {
  return {nullptr, Code::no_request, "a line is longer than 4 MiB: it was left out"};
}

std::string result_line(const json::value& id, json::object result) {
  return line_of({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

std::string error_line(const Faulty& faulty, json::object data) {
  json::object error{{"code", static_cast<int>(faulty.code)}, {"message", faulty.message}};
  if (!data.empty()) error["data"] = std::move(data);
  return line_of({{"jsonrpc", "2.0"}, {"id", faulty.id}, {"error", std::move(error)}});
}

std::string notification_line(std::string_view method, json::object params) {
  return line_of({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

}  // namespace inbox_poller::poller::cli::mcp
