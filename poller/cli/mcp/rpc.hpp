// Lines of the protocol: parsing and formatting, pure functions. Each line is one JSON-RPC message; batches are not
// supported. Source: the public specification, revisions 2025-06-18, 2025-11-25 and 2026-07-28; docs/reference/mcp.md.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace inbox_poller::poller::cli::mcp {

inline constexpr std::size_t longest_line = std::size_t{4} << 20;
inline constexpr std::size_t longest_id = 256;
inline constexpr std::size_t deepest = 128;  // nested brackets

/// Error codes. All but `version` are those of JSON-RPC.
enum class Code {
  not_json = -32700,
  no_request = -32600,
  no_method = -32601,
  bad_params = -32602,
  internal = -32603,
  version = -32022,  // of the modern revisions: an unsupported revision
};

struct Request {
  boost::json::value id;  // a text or an integer
  std::string method;
  boost::json::object params;
};
/// A notification; never answered, even if it is wrong.
struct Notification {
  std::string method;
  boost::json::object params;
};
/// A line that must be answered with an error.
struct Faulty {
  boost::json::value id;  // null if unknown
  Code code = Code::no_request;
  std::string message;
};
/// An empty line, or an answer to no request.
struct Nothing {};
using Incoming = std::variant<Nothing, Request, Notification, Faulty>;

/// True for an integer or a text of at most `longest_id` bytes: an id, or a progress token.
bool is_id(const boost::json::value&);

/// Parses any line, without its newline.
Incoming read_line(std::string_view line);
/// Returns the error for a line that was skipped because of its length.
Faulty too_long();

// Lines of the server, each with its newline; ASCII, because other line separators could split a line.
std::string result_line(const boost::json::value& id, boost::json::object result);
std::string error_line(const Faulty&, boost::json::object data = {});
std::string notification_line(std::string_view method, boost::json::object params);

}  // namespace inbox_poller::poller::cli::mcp
