#include "tests/sim/file_events.hpp"

#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>

#include "tests/sim/disk.hpp"
#include "tests/sim/virtual_time.hpp"

namespace inbox_poller::sim {
namespace {

struct Event {
  int watch;
  std::uint32_t what;
  bool operator==(const Event&) const = default;
};
struct Queue {
  std::map<int, NodePtr> watches;
  std::deque<Event> events;
  int last_watch = 0;
};
std::map<int, Queue>& queues() {
  static std::map<int, Queue> all;
  return all;
}

void add(Queue& queue, Event event) {
  if (queue.events.empty() || queue.events.back() != event) queue.events.push_back(event);
}

}  // namespace

void note_event(const Node& node, std::uint32_t what) {
  for (auto& [fd, queue] : queues())
    for (const auto& [watch, watched] : queue.watches)
      if (watched.get() == &node) add(queue, {watch, what});
}

}  // namespace inbox_poller::sim

// --- what the linker takes instead of the C library's own ---

extern "C" {

/// The descriptor is a real one, because Asio may wait for it.
int inotify_init1(int flags) noexcept {
  using namespace inbox_poller::sim;
  on_close(&queues(), [](int closed) { queues().erase(closed); });
  const auto fd = static_cast<int>(::syscall(SYS_inotify_init1, flags));
  if (fd >= 0) queues()[fd] = {};
  return fd;
}

int inotify_add_watch(int fd, const char* path, std::uint32_t) noexcept {
  using namespace inbox_poller::sim;
  auto& queue = queues().at(fd);
  const auto node = watchable(path);
  if (!node) {
    errno = ENOENT;
    return -1;
  }
  for (const auto& [watch, watched] : queue.watches)
    if (watched == node) return watch;
  queue.watches[++queue.last_watch] = node;
  return queue.last_watch;
}

int inotify_rm_watch(int fd, int watch) noexcept {
  using namespace inbox_poller::sim;
  auto& queue = queues().at(fd);
  if (queue.watches.erase(watch) > 0) add(queue, {watch, IN_IGNORED});
  return 0;
}

ssize_t read(int fd, void* buffer, size_t size) {
  using namespace inbox_poller::sim;
  const auto found = queues().find(fd);
  if (found == queues().end() || found->second.events.empty()) return ::syscall(SYS_read, fd, buffer, size);
  std::size_t filled = 0;
  for (auto& events = found->second.events; !events.empty() && filled + sizeof(inotify_event) <= size;) {
    inotify_event event{};
    event.wd = events.front().watch;
    event.mask = events.front().what;
    std::memcpy(static_cast<char*>(buffer) + filled, &event, sizeof event);
    filled += sizeof event;
    events.pop_front();
  }
  return static_cast<ssize_t>(filled);
}
}
