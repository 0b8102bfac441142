#include "poller/team/quarantine.hpp"

#include <algorithm>
#include <cerrno>

#include "schema/ids.hpp"

namespace inbox_poller::poller {

namespace {

constexpr std::size_t most_copies = 32;  // per inbox
constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;

}  // namespace

Result<std::string> Quarantine::keep(std::string_view team, std::string_view inbox, std::string_view bytes) {
  TRY(auto folder, ensure_private_dir(files_, folder_));
  const std::string prefix = std::string(team) + "." + std::string(inbox) + ".";
  const std::string name = prefix + schema::content_hash(bytes).substr(0, 16) + ".bytes";
  const bool is_there = files_.stat_at(folder, name).ok();
  if (const Status room = has_room(prefix, bytes.size()); !is_there && !room.ok()) return room.error();
  auto kept = create_durable(files_, folder, name, bytes, 0600);
  if (!kept && !is_errno(kept.error(), EEXIST)) return kept.error();
  TRY(files_.sync_dir(folder));
  return folder_ + "/" + name;
}

Status Quarantine::has_room(const std::string& prefix, std::uint64_t bytes) {
  TRY(const auto copies, list());
  const std::string path = folder_ + "/" + prefix;
  std::size_t count = 0;
  for (const auto& copy : copies) {
    if (!copy.path.starts_with(path)) continue;
    ++count;
    bytes += copy.size;
  }
  if (count < most_copies && bytes <= most_bytes) return Done{};
  return Error{"quarantine.full", path + "*: " + std::to_string(count) +
                                      " copies of this inbox are kept already, so this damage was not copied; look at "
                                      "them and remove what you do not need"};
}

Result<std::vector<Quarantine::Copy>> Quarantine::list() {
  std::vector<Copy> copies;
  auto folder = files_.open_dir(absolute, folder_);
  if (!folder) {
    if (is_errno(folder.error(), ENOENT)) return copies;
    return folder.error();
  }
  TRY(auto names, files_.list(*folder));
  std::sort(names.begin(), names.end());
  for (const auto& name : names)
    if (const auto stat = files_.stat_at(*folder, name))
      copies.push_back({folder_ + "/" + name, stat->size, stat->mtime_ns / 1'000'000});
  return copies;
}

}  // namespace inbox_poller::poller
