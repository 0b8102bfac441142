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

}  // namespace inbox_poller::config
