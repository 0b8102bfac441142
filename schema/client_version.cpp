#include "schema/client_version.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

namespace inbox_poller::schema {

namespace {

struct EventSince {
  std::string_view event;
  ClientVersion since;
};

/// Measured: 2.1.50 reads these events and no other.
constexpr std::string_view oldest_takes[] = {"SessionStart",   "SessionEnd",        "UserPromptSubmit",
                                             "PreToolUse",     "PostToolUse",       "PostToolUseFailure",
                                             "Notification",   "PermissionRequest", "Stop",
                                             "SubagentStart",  "SubagentStop",      "PreCompact",
                                             "TeammateIdle",   "TaskCompleted",     "ConfigChange",
                                             "WorktreeCreate", "WorktreeRemove",    "Setup"};

/// Versions of the public changelog; those of StopFailure, TaskCreated and PermissionDenied are measured. The first
/// versions with the last three events are unknown; 2.1.50 refuses them.
constexpr EventSince younger[] = {
    {"InstructionsLoaded", {2, 1, 69}}, {"Elicitation", {2, 1, 76}},    {"ElicitationResult", {2, 1, 76}},
    {"PostCompact", {2, 1, 76}},        {"StopFailure", {2, 1, 78}},    {"CwdChanged", {2, 1, 83}},
    {"FileChanged", {2, 1, 83}},        {"TaskCreated", {2, 1, 84}},    {"PermissionDenied", {2, 1, 89}},
    {"PostToolBatch", {2, 1, 51}},      {"MessageDisplay", {2, 1, 51}}, {"UserPromptExpansion", {2, 1, 51}},
};

constexpr AbilitySince table[] = {
    {Ability::names_subagents, {2, 1, 69}, "`agent_id` on a subagent's events"},
    {Ability::passes_over_events, {2, 1, 139}, "an event that it does not know is passed over"},
    {Ability::takes_arguments, {2, 1, 139}, "`args` of a handler"},
    {Ability::is_woken, {2, 1, 139}, "the text of an `asyncRewake` hook reaches the model: an idle session is woken"},
    {Ability::keeps_session_file, {2, 1, 139}, "`sessions/<pid>.json` while it lives"},
    {Ability::takes_stop_context, {2, 1, 163}, "`additionalContext` of a Stop hook"},
    {Ability::transcribes_hooks, {2, 1, 329}, "its transcript has what hooks add"},
};

constexpr std::string_view agent_name = "claude-code_";

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

std::span<const AbilitySince> abilities() { return table; }

ClientVersion since(Ability ability) {
  for (const AbilitySince& one : table)
    if (one.ability == ability) return one.since;
  std::abort();
}

bool can(const ClientVersion& version, Ability ability) { return version >= since(ability); }

bool can(std::string_view version, Ability ability) {
  const auto known = parse_client_version(version);
  return known && can(*known, ability);
}

std::optional<ClientVersion> parse_agent(std::string_view text) {
  if (!text.starts_with(agent_name)) return std::nullopt;
  text.remove_prefix(agent_name.size());
  std::string version(text.substr(0, text.find('_')));
  std::replace(version.begin(), version.end(), '-', '.');
  return parse_client_version(version);
}

bool takes_event(const ClientVersion& version, std::string_view event) {
  if (can(version, Ability::passes_over_events)) return true;
  if (std::find(std::begin(oldest_takes), std::end(oldest_takes), event) != std::end(oldest_takes)) return true;
  const auto* const found =
      std::find_if(std::begin(younger), std::end(younger), [&](const EventSince& one) { return one.event == event; });
  return found != std::end(younger) && version >= found->since;
}

}  // namespace inbox_poller::schema
