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

std::string_view to_string(Answerer answerer) {
  switch (answerer) {
    case Answerer::person: return "person";
    case Answerer::lead: return "lead";
    case Answerer::both: return "both";
  }
  return "";
}

std::string_view to_string(Way way) {
  switch (way) {
    case Way::mcp: return "mcp";
    case Way::channel: return "channel";
    case Way::stdin_stream: return "stdin";
    case Way::hook: return "hook";
    case Way::socket: return "socket";
    case Way::exec: return "exec";
    case Way::file: return "file";
    case Way::tmux: return "tmux";
  }
  return "";
}

std::optional<Way> parse_way(std::string_view text) {
  for (const Way way : ways) {
    if (to_string(way) == text) return way;
  }
  return std::nullopt;
}

std::string TeamSettings::task_folder(std::string_view team) const {
  if (!tasks.empty()) return tasks;
  const std::string all = tasks_root.empty() ? root.substr(0, root.rfind('/')) + "/tasks" : tasks_root;
  return all + "/" + std::string(team);
}

std::optional<PermissionMode> ModeSettings::wanted(std::string_view member) const {
  for (const auto& [name, mode] : members) {
    if (name == member) return mode;
  }
  return on_join;
}

}  // namespace inbox_poller::config
