#include "config/config.hpp"

#include "config/text.hpp"

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

std::string_view to_string(Rung rung) {
  switch (rung) {
    case Rung::stdin_stream: return "stdin";
    case Rung::hook: return "hook";
    case Rung::socket: return "socket";
    case Rung::exec: return "exec";
    case Rung::file: return "file";
    case Rung::tmux: return "tmux";
  }
  return "";
}

std::optional<Rung> parse_rung(std::string_view text) {
  for (const Rung rung : rungs) {
    if (to_string(rung) == text) return rung;
  }
  return std::nullopt;
}

bool TeamSettings::claims(std::string_view team) const {
  return is_glob() ? wildcard_match(name, team) && !(name.starts_with('*') && team.starts_with('.')) : name == team;
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
