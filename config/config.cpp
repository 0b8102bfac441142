#include "config/config.hpp"

#include <iterator>

#include "config/text.hpp"

namespace inbox_poller::config {

const BackendFacts& facts_of(Backend backend) {
  static constexpr BackendFacts facts[] = {
      // noun        asks   obeys  force  verify tasks  folds  short
      {"team",       true,  true,  true,  true,  true,  true,  false},  // claude
      {"JSONL team", true,  false, false, false, false, false, true},
      {"maildir",    false, false, false, false, false, false, false},
      {"Redis team", false, false, false, false, false, false, false}};
  static_assert(std::size(facts) == static_cast<std::size_t>(Backend::redis) + 1);
  return facts[static_cast<std::size_t>(backend)];
}

bool TeamSettings::claims(std::string_view team) const {
  return is_glob() ? wildcard_match(name, team) && !(name.starts_with('*') && team.starts_with('.')) : name == team;
}

std::string TeamSettings::team_folder(std::string_view team) const {
  if (backend == Backend::redis) return redis.shown();
  return backend == Backend::claude_code ? root + "/" + std::string(team) : folder;
}

std::string TeamSettings::inbox_folder(std::string_view team) const {
  if (backend == Backend::redis) return {};
  if (backend == Backend::jsonl) return folder.ends_with("/.mailboxes") ? folder : folder + "/inbox";
  if (backend == Backend::maildir) return folder + "/" + lead + "/new";
  return team_folder(team) + "/inboxes";
}

std::string TeamSettings::session_folder() const {
  if (backend != Backend::claude_code || root.empty()) return {};
  return root.substr(0, root.rfind('/')) + "/sessions";
}

std::string TeamSettings::task_folder(std::string_view team) const {
  if (!tasks.empty()) return tasks;
  if (backend == Backend::redis) return {};
  if (backend == Backend::jsonl) return folder.substr(0, folder.rfind('/')) + "/.tasks";
  if (backend == Backend::maildir) return folder + "/tasks";
  const std::string all = tasks_root.empty() ? root.substr(0, root.rfind('/')) + "/tasks" : tasks_root;
  return all + "/" + std::string(team);
}

std::optional<PermissionMode> ModeSettings::wanted(std::string_view member) const {
  for (const auto& [name, mode] : members)
    if (name == member) return mode;
  return on_join;
}

}  // namespace inbox_poller::config
