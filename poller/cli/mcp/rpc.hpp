// The lines of the protocol: what one means, and how ours are written. Pure. One JSON-RPC message a line; batches are
// not part of it. Source: the public specification, revisions 2025-06-18, 2025-11-25 and 2026-07-28;
// docs/reference/mcp.md.
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
inline constexpr std::size_t deepest = 128;  // brackets within each other

/// The codes of errors; those of ours are JSON-RPC's, but for one.
enum class Code {
  not_json = -32700,
  no_request = -32600,
  no_method = -32601,
  bad_params = -32602,
  internal = -32603,
  version = -32022,  // of the modern revisions: not one that we speak
};

struct Request {
  boost::json::value id;  // a text or a whole number
  std::string method;
  boost::json::object params;
};
/// Never answered, whatever is wrong with it.
struct Notification {
  std::string method;
  boost::json::object params;
};
/// What has to be answered with an error.
struct Faulty {
  boost::json::value id;  // null where it cannot be told
  Code code = Code::no_request;
  std::string message;
};
/// An empty line, or an answer to something that nobody asked.
struct Nothing {};
using Incoming = std::variant<Nothing, Request, Notification, Faulty>;

/// A whole number or a text of at most `longest_id`: an id, or a token of progress.
bool is_id(const boost::json::value&);

/// Total. `line` without its newline.
Incoming read_line(std::string_view line);
/// For a line that was left out because of its length.
Faulty too_long();

// Ours, each with its newline: ASCII where anything else could cut a line.
std::string result_line(const boost::json::value& id, boost::json::object result);
std::string error_line(const Faulty&, boost::json::object data = {});
std::string notification_line(std::string_view method, boost::json::object params);

}  // namespace inbox_poller::poller::cli::mcp
