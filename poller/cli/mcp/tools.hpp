// The table of tools: names, texts, arguments and answers. It is the source of the JSON Schema 2020-12 for clients, and
// of the errors for wrong arguments. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace inbox_poller::poller::cli::mcp {

enum class Kind {
  text,      // not empty
  any,       // any JSON
  seconds,   // time to wait, 0 or more
  lease,     // time to hold, over 0
};

struct Argument {
  std::string_view name;
  Kind kind = Kind::text;
  bool required = false;
  std::string_view about;
};

/// The member or members of an answer.
enum class Shape { message, message_or_none, task, task_or_none, tasks, inbox, requests, decision, shutdowns, teams, count };

/// The users of a tool: all, an actor of a mailbox, the lead of a team that a daemon serves, a session with a channel.
enum class Who { everybody, actor, lead, channel };

struct Tool {
  std::string_view name, title, about;
  std::span<const Argument> arguments;
  Shape answer = Shape::message;
  Who who = Who::everybody;
  bool read_only = false;
  bool destructive = false;
  bool waits = false;  // may take long, and reports progress meanwhile
};

inline constexpr double default_wait_s = 120;
inline constexpr double longest_wait_s = 24 * 3600;

/// Lists all tools, in the order of `tools/list`.
std::span<const Tool> tools();
const Tool* find_tool(std::string_view name);

/// Describes a tool for `tools/list`.
boost::json::object described(const Tool&);

/// Explains why arguments do not fit, with what to give instead; empty when they fit.
std::optional<std::string> problem_of(const Tool&, const boost::json::object& arguments);

// --- Arguments that fit

std::string text_in(const boost::json::object& arguments, std::string_view name);
double seconds_in(const boost::json::object& arguments, std::string_view name, double otherwise);

/// Limit for the JSON of one answer, in bytes.
inline constexpr std::size_t longest_answer = std::size_t{64} << 10;
/// Shortens an answer that is too long: the end of its list, or the payload or result of its message or task. `note`
/// then states how much, and where the rest is.
void clip(boost::json::object& answer, Shape, std::string_view where);

}  // namespace inbox_poller::poller::cli::mcp
