#include "poller/mailbox/maildir/maildir_task_events.hpp"

#include <cerrno>

namespace inbox_poller::poller {

Result<std::vector<TaskFile>> MaildirTaskEvents::finished(long long since_ns) {
  TRY(const auto names, root_.names("tasks/done"));
  const std::set<std::string> there(names.begin(), names.end());
  std::erase_if(seen_, [&](const std::string& name) { return !there.contains(name); });
  std::vector<TaskFile> found;
  const auto folder = root_.folder("tasks/done");
  if (!folder) return is_errno(folder.error(), ENOENT) ? Result<std::vector<TaskFile>>(found) : folder.error();
  for (const std::string& name : there) {
    if (seen_.contains(name)) continue;
    // The ctime is the kernel's time of the move; times inside the file are its holder's claim.
    const auto stat = root_.files().stat_at(*folder, name);
    if (stat && stat->ctime_ns < since_ns) seen_.insert(name);
    if (!stat || stat->ctime_ns < since_ns) continue;
    const auto file = root_.read(*folder, name);
    if (!file) continue;  // the file may be incomplete; read it again later
    seen_.insert(name);
    found.push_back({TaskPlace::done, {}, name, file->envelope});
  }
  return found;
}

}  // namespace inbox_poller::poller
