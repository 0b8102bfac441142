#include "config/config.hpp"

namespace inbox_poller::config {

std::string_view to_string(PermissionMode mode) {
  switch (mode) {
    case PermissionMode::plan: return "plan";
    case PermissionMode::standard: return "default";
    case PermissionMode::accept_edits: return "acceptEdits";
    case PermissionMode::automatic: return "auto";
    case PermissionMode::dont_ask: return "dontAsk";
    case PermissionMode::bypass: return "bypassPermissions";
  }
  return "";
}

std::optional<PermissionMode> parse_mode(std::string_view text) {
  for (const PermissionMode mode : permission_modes) {
    if (to_string(mode) == text) return mode;
  }
  return std::nullopt;
}

std::string_view to_string(Role role) {
  switch (role) {
    case Role::leader: return "leader";
    case Role::front: return "front";
    case Role::observer: return "observer";
  }
  return "";
}

std::optional<PermissionMode> ModeSettings::wanted(std::string_view member) const {
  for (const auto& [name, mode] : members) {
    if (name == member) return mode;
  }
  return on_join;
}

}  // namespace inbox_poller::config
