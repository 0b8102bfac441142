#include "poller/folder_watch.hpp"

#ifdef __linux__

#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>

#include "poller/filesystem.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

// Clients finish with a close after writing, or with a rename into place. The next watch() notices a removed directory.
constexpr std::uint32_t changes = IN_CLOSE_WRITE | IN_MOVED_TO;
constexpr std::uint32_t removals = IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t only_the_folder = IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;
constexpr std::size_t buffer_size = 64 * 1024;

Error watch_error(int errno_value, const std::string& folder) {
  Error error = io_error(errno_value, "watching", folder);
  error.code = "watch" + error.code.substr(error.code.find('.'));
  if (errno_value == ENOSPC || errno_value == EMFILE)
    error.message += " (raise fs.inotify.max_user_watches or fs.inotify.max_user_instances with sysctl)";
  return error;
}

class Inotify final : public FolderWatch {
 public:
  explicit Inotify(const asio::any_io_executor& executor) : stream_(executor) {
    const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    problem_ = fd < 0 ? errno : 0;
    if (fd >= 0) stream_.assign(fd);
  }

  Result<Watching> watch(const std::string& folder, const Wake& wake, Hints hints) override {
    if (problem_ != 0) return watch_error(problem_, folder);
    const int found = ::inotify_add_watch(stream_.native_handle(), folder.c_str(),
                                          changes | only_the_folder | (hints == Hints::of_all ? removals : 0));
    if (found < 0) {
      const int problem = errno;
      forget(folder);
      if (problem == ENOENT) return Watching::no_folder;
      return watch_error(problem, folder);
    }
    if (const auto known = watches_.find(folder); known != watches_.end() && known->second != found) forget(folder);
    watches_[folder] = found;
    wakes_[found] = wake;
    listen();
    return Watching::yes;
  }

  void forget(const std::string& folder) override {
    const auto known = watches_.find(folder);
    if (known == watches_.end()) return;
    ::inotify_rm_watch(stream_.native_handle(), known->second);  // fails if the directory is gone, which is fine
    wakes_.erase(known->second);
    watches_.erase(known);
    if (watches_.empty()) stream_.cancel();  // an idle daemon must be able to end
  }

 private:
  void listen() {
    if (listening_) return;
    listening_ = true;
    auto woken = [this, alive = std::weak_ptr<char>(alive_)](const boost::system::error_code& ended) {
      if (alive.expired()) return;
      listening_ = false;
      if (!ended) drain();
      if (!watches_.empty()) listen();
    };
    stream_.async_wait(asio::posix::stream_descriptor::wait_read, std::move(woken));
  }

  void drain() {
    alignas(inotify_event) std::array<char, buffer_size> buffer;
    const ::ssize_t size = ::read(stream_.native_handle(), buffer.data(), buffer.size());
    for (::ssize_t at = 0; at < size;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      const std::string_view name(buffer.data() + at + sizeof(event), event.len);
      notify(event, name.substr(0, name.find('\0')));
      at += static_cast<::ssize_t>(sizeof(event) + event.len);
    }
  }

  void notify(const inotify_event& event, std::string_view name) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) {  // any folder's hints may be lost
      const auto all = wakes_;
      for (const auto& [watch, wake] : all) wake();
      return;
    }
    const auto found = wakes_.find(event.wd);
    if (found == wakes_.end()) return;
    if ((event.mask & IN_IGNORED) != 0) {  // the directory is gone, and its number may be reused
      std::erase_if(watches_, [&](const auto& known) { return known.second == event.wd; });
      wakes_.erase(found);
      return;
    }
    const bool is_own_end = (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0;
    if (!is_own_end && !name.ends_with(".json") && !name.ends_with(".jsonl")) return;
    const Wake wake = found->second;
    wake();
  }

  asio::posix::stream_descriptor stream_;
  int problem_ = 0;
  bool listening_ = false;
  std::map<std::string, int> watches_;  // by directory
  std::map<int, Wake> wakes_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace

std::unique_ptr<FolderWatch> make_folder_watch(asio::any_io_executor executor) {
  return std::make_unique<Inotify>(executor);
}

std::string network_file_system(const std::string& folder) {
  struct ::statfs found {};
  if (::statfs(folder.c_str(), &found) != 0) return {};
  // Magic numbers of statfs(2), some of which <linux/magic.h> lacks.
  switch (static_cast<std::uint32_t>(found.f_type)) {
    case 0x6969: return "nfs";
    case 0xff534d42: return "cifs";
    case 0xfe534d42: return "smb2";
    case 0x517b: return "smb";
    case 0x01021997: return "9p";
    case 0x65735546: return "fuse";
    case 0x00c36400: return "ceph";
    case 0x5346414f: return "afs";
    case 0x6a656a63: return "virtiofs";
    default: return {};
  }
}

}  // namespace inbox_poller::poller

#else

namespace inbox_poller::poller {
namespace {

/// Placeholder without watches: kqueue reports only new and removed names, not files written in place.
class NoWatch final : public FolderWatch {
 public:
  Result<Watching> watch(const std::string& folder, const Wake&, Hints) override {
    return Error{"watch.unsupported", "folders are not watched on this system, so changes in " + folder +
                                          " are seen when the poll interval has passed"};
  }
  void forget(const std::string&) override {}
};

}  // namespace

std::unique_ptr<FolderWatch> make_folder_watch(boost::asio::any_io_executor) { return std::make_unique<NoWatch>(); }

std::string network_file_system(const std::string&) { return {}; }

}  // namespace inbox_poller::poller

#endif
