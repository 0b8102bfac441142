#include "schema/client_version.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace inbox_poller::schema {

namespace {

struct EventSince {
  std::string_view event;
  ClientVersion since;
};

/// Measured with 2.1.50, which takes these and no other.
constexpr std::string_view oldest_takes[] = {"SessionStart",   "SessionEnd",        "UserPromptSubmit",
                                             "PreToolUse",     "PostToolUse",       "PostToolUseFailure",
                                             "Notification",   "PermissionRequest", "Stop",
                                             "SubagentStart",  "SubagentStop",      "PreCompact",
                                             "TeammateIdle",   "TaskCompleted",     "ConfigChange",
                                             "WorktreeCreate", "WorktreeRemove",    "Setup"};

/// The public changelog's versions, those of StopFailure, TaskCreated and PermissionDenied measured. When the last
/// three came is not told: only that 2.1.50 refuses them is known.
constexpr EventSince younger[] = {
    {"InstructionsLoaded", {2, 1, 69}}, {"Elicitation", {2, 1, 76}},    {"ElicitationResult", {2, 1, 76}},
    {"PostCompact", {2, 1, 76}},        {"StopFailure", {2, 1, 78}},    {"CwdChanged", {2, 1, 83}},
    {"FileChanged", {2, 1, 83}},        {"TaskCreated", {2, 1, 84}},    {"PermissionDenied", {2, 1, 89}},
    {"PostToolBatch", {2, 1, 51}},      {"MessageDisplay", {2, 1, 51}}, {"UserPromptExpansion", {2, 1, 51}},
};

/// Since then an event that is not known is passed over (2.1.100 still skips the file).
constexpr ClientVersion passes_over{2, 1, 139};
constexpr ClientVersion tells_subagents{2, 1, 69};

}  // namespace

std::optional<ClientVersion> parse_client_version(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  ClientVersion version{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < version.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [behind, problem] = std::from_chars(at, end, version[i]);
    if (problem != std::errc{} || version[i] < 0) return std::nullopt;
    at = behind;
  }
  if (at != end && std::string_view(" \t\r\n-+").find(*at) == std::string_view::npos) return std::nullopt;
  return version;
}

std::string to_string(const ClientVersion& version) {
  return std::to_string(version[0]) + "." + std::to_string(version[1]) + "." + std::to_string(version[2]);
}

bool names_subagents(std::string_view version) {
  const auto known = parse_client_version(version);
  return known && *known >= tells_subagents;
}

bool takes_event(const ClientVersion& version, std::string_view event) {
  if (version >= passes_over) return true;
  if (std::find(std::begin(oldest_takes), std::end(oldest_takes), event) != std::end(oldest_takes)) return true;
  const auto* const found =
      std::find_if(std::begin(younger), std::end(younger), [&](const EventSince& one) { return one.event == event; });
  return found != std::end(younger) && version >= found->since;
}

}  // namespace inbox_poller::schema
