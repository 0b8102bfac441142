// The tools: one table of names, words, arguments and answers, from which come what a client is shown (JSON Schema
// 2020-12), and what is said of a call that does not fit. Pure.
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
  seconds,   // how long to wait: 0 or more
  lease,     // how long to hold: over 0
};

struct Argument {
  std::string_view name;
  Kind kind = Kind::text;
  bool required = false;
  std::string_view about;
};

/// What an answer looks like: one member, or several.
enum class Shape { message, message_or_none, task, task_or_none, tasks, inbox, asks, decision, shutdowns, teams, count };

/// Who has it: an actor of a mailbox, the lead of a team that a daemon serves, a session with a channel.
enum class Who { everybody, actor, lead, channel };

struct Tool {
  std::string_view name, title, about;
  std::span<const Argument> arguments;
  Shape answer = Shape::message;
  Who who = Who::everybody;
  bool read_only = false;
  bool destructive = false;
  bool waits = false;  // it may take long, and says so meanwhile
};

inline constexpr double default_wait_s = 120;
inline constexpr double longest_wait_s = 24 * 3600;

/// All of them, in the order in which they are shown.
std::span<const Tool> tools();
const Tool* find_tool(std::string_view name);

/// As `tools/list` shows it.
boost::json::object described(const Tool&);

/// Why these arguments do not fit, in a sentence that says what to give instead; nothing when they do.
std::optional<std::string> problem_of(const Tool&, const boost::json::object& arguments);

// --- arguments that fit

std::string text_in(const boost::json::object& arguments, std::string_view name);
double seconds_in(const boost::json::object& arguments, std::string_view name, double otherwise);

/// At most this many bytes of JSON go into one answer.
inline constexpr std::size_t longest_answer = std::size_t{64} << 10;
/// Cuts what makes the answer too long: the end of its list, or the payload or result of its message or task. `note`
/// then says how much, and where the rest is.
void clip(boost::json::object& answer, Shape, std::string_view where);

}  // namespace inbox_poller::poller::cli::mcp
