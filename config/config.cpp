#include "config/config.hpp"

#include <iterator>

#include "config/text.hpp"

namespace inbox_poller::config {

const TransportFacts& facts_of(Transport transport) {
  static constexpr TransportFacts facts[] = {
      // noun        asks   obeys  force  verify tasks  folds  short
      {"team",       true,  true,  true,  true,  true,  true,  false},  // claude
      {"JSONL team", true,  false, false, false, false, false, true},
      {"maildir",    false, false, false, false, false, false, false},
      {"Redis team", false, false, false, false, false, false, false}};
  static_assert(std::size(facts) == static_cast<std::size_t>(Transport::redis) + 1);
  return facts[static_cast<std::size_t>(transport)];
}

bool TeamSettings::claims(std::string_view team) const {
  return is_glob() ? wildcard_match(name, team) && !(name.starts_with('*') && team.starts_with('.')) : name == team;
}

std::string TeamSettings::team_folder(std::string_view team) const {
  if (transport == Transport::redis) return engine.shown();
  return transport == Transport::claude ? root + "/" + std::string(team) : folder;
}

std::string TeamSettings::inbox_folder(std::string_view team) const {
  if (transport == Transport::redis) return {};
  if (transport == Transport::jsonl) return folder.ends_with("/.mailboxes") ? folder : folder + "/inbox";
  if (transport == Transport::maildir) return folder + "/" + lead + "/new";
  return team_folder(team) + "/inboxes";
}

std::string TeamSettings::session_folder() const {
  if (transport != Transport::claude || root.empty()) return {};
  return root.substr(0, root.rfind('/')) + "/sessions";
}

std::string TeamSettings::task_folder(std::string_view team) const {
  if (!tasks.empty()) return tasks;
  if (transport == Transport::redis) return {};
  if (transport == Transport::jsonl) return folder.substr(0, folder.rfind('/')) + "/.tasks";
  if (transport == Transport::maildir) return folder + "/tasks";
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
