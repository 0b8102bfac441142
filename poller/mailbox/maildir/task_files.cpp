#include "poller/mailbox/maildir/task_files.hpp"

#include <cerrno>

namespace inbox_poller::poller {

namespace {

constexpr std::string_view begun_prefix = ".sweep.";  // and HOLDER.NAME: no actor has a dot in its name

}  // namespace

std::string task_folder(TaskPlace place) {
  switch (place) {
    case TaskPlace::open: return "tasks/open";
    case TaskPlace::claimed: return "tasks/claimed";
    case TaskPlace::done: return "tasks/done";
    case TaskPlace::dead: return "tasks/dead";
    case TaskPlace::given_back: break;
  }
  return "tmp";
}

std::string claimed_folder(const std::string& actor) { return "tasks/claimed/" + actor; }

std::string begun_name(const std::string& holder, const std::string& name) {
  return std::string(begun_prefix) + holder + '.' + name;
}

std::pair<std::string, std::string> parts_of_begun(std::string_view name) {
  if (!name.starts_with(begun_prefix) || !name.ends_with(".json")) return {};
  name.remove_prefix(begun_prefix.size());
  const std::size_t dot = name.find('.');
  const std::string holder(name.substr(0, dot));
  if (dot == std::string_view::npos || !is_actor_name(holder) || dot + 1 == name.size()) return {};
  return {holder, std::string(name.substr(dot + 1))};
}

std::string original_name(const std::string& name) {
  std::string original = parts_of_begun(name).second;
  return original.empty() ? name : original;
}

Result<Directory> locked_tasks(const MaildirRoot& root) {
  Result<Directory> tasks = root.folder("tasks");
  if (!tasks) return tasks;
  if (Status locked = root.files().lock(tasks->fd, tasks->path); !locked.ok()) return locked.error();
  return tasks;
}

}  // namespace inbox_poller::poller
