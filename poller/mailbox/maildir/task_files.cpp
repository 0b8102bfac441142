#include "poller/mailbox/maildir/task_files.hpp"

#include <cerrno>

namespace inbox_poller::poller {

namespace {

constexpr std::string_view swept_prefix = "sweep.";  // HOLDER follows; actor names contain no dot

}  // namespace

std::string task_folder(TaskPlace place) {
  switch (place) {
    case TaskPlace::open: return "tasks/open";
    case TaskPlace::claimed:
    case TaskPlace::given_back: break;
    case TaskPlace::done: return "tasks/done";
    case TaskPlace::dead: return "tasks/dead";
  }
  return "tasks/claimed";
}

std::string claimed_folder(const std::string& actor) { return "tasks/claimed/" + actor; }

std::string swept_name(const std::string& holder) { return std::string(swept_prefix) + holder; }

std::string swept_folder(const std::string& holder) { return claimed_folder(swept_name(holder)); }

std::string holder_of_swept(std::string_view name) {
  if (!name.starts_with(swept_prefix)) return {};
  name.remove_prefix(swept_prefix.size());
  return is_actor_name(name) ? std::string(name) : std::string();
}

Result<Directory> locked_tasks(const MaildirRoot& root) {
  TRY(auto tasks, root.folder("tasks"));
  TRY(root.files().lock(tasks.fd, tasks.path));
  return tasks;
}

}  // namespace inbox_poller::poller
