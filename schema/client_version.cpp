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

/// Events that came after the oldest client that we know. All of ours that are not here are older: Stop, PreToolUse,
/// PostToolUse, Notification 1.0.38; UserPromptSubmit 1.0.54; SessionStart 1.0.62; SessionEnd 1.0.85; PermissionRequest
/// 2.0.45; TeammateIdle, TaskCompleted 2.1.33.
constexpr EventSince younger[] = {
    {"InstructionsLoaded", {2, 1, 69}}, {"Elicitation", {2, 1, 76}}, {"ElicitationResult", {2, 1, 76}},
    {"PostCompact", {2, 1, 76}},        {"StopFailure", {2, 1, 78}}, {"CwdChanged", {2, 1, 83}},
    {"FileChanged", {2, 1, 83}},        {"TaskCreated", {2, 1, 84}}, {"PermissionDenied", {2, 1, 89}},
};

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

bool takes_event(const ClientVersion& version, std::string_view event) {
  const auto* const found =
      std::find_if(std::begin(younger), std::end(younger), [&](const EventSince& one) { return one.event == event; });
  return found == std::end(younger) || version >= found->since;
}

}  // namespace inbox_poller::schema
