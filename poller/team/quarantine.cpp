#include "poller/team/quarantine.hpp"

#include <algorithm>
#include <cerrno>

#include "schema/ids.hpp"

namespace inbox_poller::poller {

Result<std::string> Quarantine::keep(std::string_view team, std::string_view inbox, std::string_view bytes) {
  auto folder = ensure_private_dir(files_, folder_);
  if (!folder) return folder.error();
  const std::string name =
      std::string(team) + "." + std::string(inbox) + "." + schema::content_hash(bytes).substr(0, 16) + ".bytes";
  auto kept = create_durable(files_, *folder, name, bytes, 0600);
  if (!kept && !is_errno(kept.error(), EEXIST)) return kept.error();
  if (auto synced = files_.sync_dir(*folder); !synced) return synced.error();
  return folder_ + "/" + name;
}

Result<std::vector<Quarantine::Copy>> Quarantine::list() {
  std::vector<Copy> copies;
  auto folder = files_.open_dir(absolute, folder_);
  if (!folder) {
    if (is_errno(folder.error(), ENOENT)) return copies;
    return folder.error();
  }
  auto names = files_.list(*folder);
  if (!names) return names.error();
  std::sort(names->begin(), names->end());
  for (const auto& name : *names)
    if (const auto stat = files_.stat_at(*folder, name))
      copies.push_back({folder_ + "/" + name, stat->size, stat->mtime_ns / 1'000'000});
  return copies;
}

}  // namespace inbox_poller::poller
