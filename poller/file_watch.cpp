#include "poller/file_watch.hpp"

#ifdef __linux__

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "poller/filesystem.hpp"

namespace inbox_poller::poller {
namespace {

// IN_OPEN and IN_CLOSE give no event here, but keep the kernel from merging two changes into one.
constexpr std::uint32_t watched_for = IN_ACCESS | IN_MODIFY | IN_OPEN | IN_CLOSE | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::size_t room_for_events = 64 * 1024;

class InotifyFiles final : public FileWatch {
 public:
  InotifyFiles() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), problem_(fd_.get() < 0 ? errno : 0) {}

  Result<int> watch(const std::string& path) override {
    const int found = problem_ != 0 ? -1 : ::inotify_add_watch(fd_.get(), path.c_str(), watched_for | IN_DONT_FOLLOW);
    if (found >= 0) return found;
    Error error = io_error(problem_ != 0 ? problem_ : errno, "watching", path);
    error.code = "watch" + error.code.substr(error.code.find('.'));
    return error;
  }

  void forget(int file) override { ::inotify_rm_watch(fd_.get(), file); }

  std::vector<FileEvent> drain() override {
    std::vector<FileEvent> events;
    alignas(inotify_event) std::array<char, room_for_events> buffer;
    for (::ssize_t size = 0; (size = ::read(fd_.get(), buffer.data(), buffer.size())) > 0;) {
      for (::ssize_t at = 0; at < size;) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof(event));
        at += static_cast<::ssize_t>(sizeof(event) + event.len);
        if ((event.mask & IN_Q_OVERFLOW) != 0) events.push_back({-1, FileEvent::What::missed});
        if ((event.mask & IN_ACCESS) != 0) events.push_back({event.wd, FileEvent::What::read});
        if ((event.mask & IN_MODIFY) != 0) events.push_back({event.wd, FileEvent::What::changed});
        if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0)
          events.push_back({event.wd, FileEvent::What::gone});
      }
    }
    return events;
  }

 private:
  Fd fd_;
  int problem_;
};

}  // namespace

std::unique_ptr<FileWatch> make_file_watch() { return std::make_unique<InotifyFiles>(); }

}  // namespace inbox_poller::poller

#else

namespace inbox_poller::poller {
namespace {

class NoFileWatch final : public FileWatch {
 public:
  Result<int> watch(const std::string& path) override {
    return Error{"watch.unsupported", "who reads " + path + " is not told on this system"};
  }
  void forget(int) override {}
  std::vector<FileEvent> drain() override { return {}; }
};

}  // namespace

std::unique_ptr<FileWatch> make_file_watch() { return std::make_unique<NoFileWatch>(); }

}  // namespace inbox_poller::poller

#endif
