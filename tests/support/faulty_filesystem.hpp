// A file system that fails where a test says, and lets a test act between two calls (steal a lock, rewrite a file).
// A failing write leaves half of its bytes behind, as a full disk does. Syncing is only pretended: nothing here has to
// survive the test, and the loops over every call would wait for the disk most of their time.
#pragma once

#include <cerrno>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "poller/filesystem.hpp"

namespace inbox_poller::test {

enum class Call {
  open_dir,
  open_read,
  open_update,
  open_append,
  create_exclusive,
  stat_at,
  stat,
  read_at,
  write_at,
  append,
  truncate,
  set_lease,
  sync,
  sync_dir,
  rename_at,
  exchange_at,
  move,
  swap,
  unlink_at,
  mkdir_at,
  rmdir_at,
  list,
  lock,
};
inline constexpr Call last_call = Call::lock;

struct Fault {
  Call call;
  unsigned nth = 1;  // which call of this kind, counted from when the fault is set
  int errno_value = EIO;
  bool for_good = false;  // all later ones too
};

class FaultyFileSystem final : public poller::FileSystem {
 public:
  explicit FaultyFileSystem(poller::FileSystem& real) : real_(real) {}

  void set(const Fault& fault) {
    fault_ = fault;
    counts_.clear();
    fired_ = false;
  }
  void heal() { fault_.reset(); }
  /// Whether the fault was met since it was set.
  [[nodiscard]] bool fired() const { return fired_; }

  using Hook = std::function<void(const std::string& name)>;
  /// Runs before every call of this kind; `name` is what the call is about.
  void before(Call call, Hook hook) { before_[call] = std::move(hook); }
  /// Runs before every call of any kind; what it throws ends the caller there, as a kill does.
  void before_any(std::function<void()> hook) { before_any_ = std::move(hook); }
  /// Runs before the first call of this kind whose name ends so, once.
  void once_before(Call call, std::string ending, std::function<void()> action) {
    before_[call] = [this, call, ending = std::move(ending), action = std::move(action)](const std::string& name) {
      if (!name.ends_with(ending)) return;
      const auto run = action;  // the hook goes away before it acts
      before_.erase(call);
      run();
    };
  }

  /// Time stamps from now on come in ticks of this length, as on a file system with a coarse clock.
  void blur_times(std::chrono::nanoseconds tick) { tick_ns_ = tick.count(); }

  Result<poller::Directory> open_dir(const poller::Directory& at, const std::string& name) override {
    if (auto error = enter(Call::open_dir, name)) return *error;
    Result<poller::Directory> directory = real_.open_dir(at, name);
    if (directory) blur(directory->stat);
    return directory;
  }
  Result<poller::File> open_read(const poller::Directory& at, const std::string& name) override {
    if (auto error = enter(Call::open_read, name)) return *error;
    Result<poller::File> file = real_.open_read(at, name);
    if (file) blur(file->stat);
    return file;
  }
  Result<poller::File> open_update(const poller::Directory& at, const std::string& name) override {
    if (auto error = enter(Call::open_update, name)) return *error;
    return real_.open_update(at, name);
  }
  Result<poller::File> open_append(const poller::Directory& at, const std::string& name) override {
    if (auto error = enter(Call::open_append, name)) return *error;
    return real_.open_append(at, name);
  }
  Result<poller::File> create_exclusive(const poller::Directory& at, const std::string& name, unsigned mode) override {
    if (auto error = enter(Call::create_exclusive, name)) return *error;
    return real_.create_exclusive(at, name, mode);
  }
  Result<poller::FileStat> stat_at(const poller::Directory& at, const std::string& name) override {
    if (auto error = enter(Call::stat_at, name)) return *error;
    return blurred(real_.stat_at(at, name));
  }
  Result<poller::FileStat> stat(const poller::File& file) override {
    if (auto error = enter(Call::stat, file.path)) return *error;
    return blurred(real_.stat(file));
  }
  Result<std::size_t> read_at(const poller::File& file, char* buffer, std::size_t size, std::uint64_t offset) override {
    if (auto error = enter(Call::read_at, file.path)) return *error;
    return real_.read_at(file, buffer, size, offset);
  }
  Status write_at(const poller::File& file, std::string_view bytes, std::uint64_t offset) override {
    if (auto error = enter(Call::write_at, file.path)) {
      (void)real_.write_at(file, bytes.substr(0, bytes.size() / 2), offset);
      return *error;
    }
    return real_.write_at(file, bytes, offset);
  }
  Status append(const poller::File& file, std::string_view bytes) override {
    if (auto error = enter(Call::append, file.path)) {
      (void)real_.append(file, bytes.substr(0, bytes.size() / 2));
      return *error;
    }
    return real_.append(file, bytes);
  }
  Status truncate(const poller::File& file, std::uint64_t size) override {
    if (auto error = enter(Call::truncate, file.path)) return *error;
    return real_.truncate(file, size);
  }
  Result<bool> set_lease(const poller::File& file, poller::Lease lease) override {
    if (auto error = enter(Call::set_lease, file.path)) return *error;
    return real_.set_lease(file, lease);
  }
  bool lease_is_wanted(const poller::File& file) override { return real_.lease_is_wanted(file); }
  Status sync(const poller::File& file) override {
    if (auto error = enter(Call::sync, file.path)) return *error;
    return Done{};
  }
  Status sync_dir(const poller::Directory& directory) override {
    if (auto error = enter(Call::sync_dir, directory.path)) return *error;
    return Done{};
  }
  Status rename_at(const poller::Directory& at, const std::string& from, const std::string& to) override {
    if (auto error = enter(Call::rename_at, to)) return *error;
    return real_.rename_at(at, from, to);
  }
  Status exchange_at(const poller::Directory& at, const std::string& one, const std::string& other) override {
    if (auto error = enter(Call::exchange_at, other)) return *error;
    return real_.exchange_at(at, one, other);
  }
  Status move(const poller::Directory& from, const std::string& name, const poller::Directory& to,
              const std::string& as, poller::Onto onto) override {
    if (auto error = enter(Call::move, to.path + '/' + as)) return *error;
    return real_.move(from, name, to, as, onto);
  }
  Status swap(const poller::Directory& at, const std::string& one, const poller::Directory& there,
              const std::string& other) override {
    if (auto error = enter(Call::swap, there.path + '/' + other)) return *error;
    return real_.swap(at, one, there, other);
  }
  Status unlink_at(const poller::Directory& at, const std::string& name) override {
    if (auto error = enter(Call::unlink_at, name)) return *error;
    return real_.unlink_at(at, name);
  }
  Status mkdir_at(const poller::Directory& at, const std::string& name, unsigned mode) override {
    if (auto error = enter(Call::mkdir_at, name)) return *error;
    return real_.mkdir_at(at, name, mode);
  }
  Status rmdir_at(const poller::Directory& at, const std::string& name) override {
    if (auto error = enter(Call::rmdir_at, name)) return *error;
    return real_.rmdir_at(at, name);
  }
  Result<std::vector<std::string>> list(const poller::Directory& directory) override {
    if (auto error = enter(Call::list, directory.path)) return *error;
    return real_.list(directory);
  }
  Status lock(const poller::Fd& open, const std::string& path) override {
    if (auto error = enter(Call::lock, path)) return *error;
    return real_.lock(open, path);
  }

 private:
  std::optional<Error> enter(Call call, const std::string& name) {
    if (before_any_) before_any_();
    if (const auto hook = before_.find(call); hook != before_.end()) {
      const Hook run = hook->second;  // it may replace itself
      run(name);
    }
    const std::lock_guard counting(counting_);  // the pool reads beside the thread that decides
    const unsigned count = ++counts_[call];
    if (!fault_ || fault_->call != call) return std::nullopt;
    if (fault_->for_good ? count < fault_->nth : count != fault_->nth) return std::nullopt;
    fired_ = true;
    return poller::io_error(fault_->errno_value, "(injected)", name);
  }

  void blur(poller::FileStat& stat) const {
    stat.mtime_ns -= stat.mtime_ns % tick_ns_;
    stat.ctime_ns -= stat.ctime_ns % tick_ns_;
  }
  [[nodiscard]] Result<poller::FileStat> blurred(Result<poller::FileStat> stat) const {
    if (stat) blur(*stat);
    return stat;
  }

  poller::FileSystem& real_;
  std::int64_t tick_ns_ = 1;
  std::map<Call, Hook> before_;
  std::function<void()> before_any_;
  std::mutex counting_;
  std::map<Call, unsigned> counts_;
  std::optional<Fault> fault_;
  bool fired_ = false;
};

}  // namespace inbox_poller::test
