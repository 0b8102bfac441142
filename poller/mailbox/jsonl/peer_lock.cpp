#include "poller/mailbox/jsonl/peer_lock.hpp"

#include <cerrno>

namespace inbox_poller::poller {

Result<std::optional<File>> peer_lock(FileSystem& files, const Directory& inboxes, const std::string& box) {
  const auto locks = files.open_dir(inboxes, "../locks");
  if (!locks) return std::optional<File>();
  auto file = files.open_append(*locks, "inbox-" + box + ".lock");
  if (!file) return std::optional<File>();
  const Status held = files.lock(file->fd, file->path);
  if (!held.ok() && is_errno(held.error(), EAGAIN)) return held.error();
  return std::optional<File>(*std::move(file));
}

}  // namespace inbox_poller::poller
