// Files in memory, with the semantics of POSIX that the product relies on, and a disk below them: bytes that were not
// synced, and names of a folder that was not synced, may be lost when the power fails. Times are those of the world.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "poller/filesystem.hpp"
#include "tests/sim/fate.hpp"

namespace inbox_poller::sim {

struct Node {
  poller::FileKind kind = poller::FileKind::regular;
  std::uint64_t ino = 0;
  unsigned mode = 0;
  std::int64_t mtime_ns = 0;
  Span made_at{};  // by the even clock
  std::string bytes;
  std::map<std::string, std::shared_ptr<Node>> names;  // of a folder
  std::string durable_bytes;
  std::map<std::string, std::shared_ptr<Node>> durable_names;
};
using NodePtr = std::shared_ptr<Node>;

/// The medium. Its plain calls are those of the peers; all paths are absolute.
class Disk {
 public:
  Disk();
  NodePtr find(const std::string& path) const;
  std::optional<std::string> read(const std::string& path) const;
  bool exists(const std::string& path) const { return find(path) != nullptr; }
  /// Truncates and writes in place, or creates the file.
  void write(const std::string& path, const std::string& bytes);
  /// Replaces the file by a new one, as a rename does.
  void replace(const std::string& path, const std::string& bytes);
  bool mkdir(const std::string& path);
  bool rmdir(const std::string& path);
  void make_folders(const std::string& path);
  /// Makes everything durable.
  void sync_all() { sync(*root_); }
  /// Loses some of what is not durable. `kept` is one in two for each file and each name.
  void lose_power(Dice& dice) { lose(*root_, dice); }

  NodePtr make(poller::FileKind kind, unsigned mode);
  /// Called when a daemon removes the lock of a peer that the peer may still hold, with the lock's age.
  std::function<void(const std::string& name, Span age)> on_stolen_lock = {};
  NodePtr root() const { return root_; }
  static void touch(Node& node) { node.mtime_ns = system_ns(); }

 private:
  static void sync(Node& node);
  static void lose(Node& node, Dice& dice);
  std::pair<NodePtr, std::string> parent(const std::string& path) const;
  NodePtr root_;
  std::uint64_t inodes_ = 0;
};

/// The port of one daemon to the disk.
class SimFiles final : public poller::FileSystem {
 public:
  SimFiles(Disk& disk, Fate& fate);
  ~SimFiles() override;
  SimFiles(const SimFiles&) = delete;
  SimFiles& operator=(const SimFiles&) = delete;

  Result<poller::Directory> open_dir(const poller::Directory& at, const std::string& name) override;
  Result<poller::File> open_read(const poller::Directory& at, const std::string& name) override;
  Result<poller::File> open_update(const poller::Directory& at, const std::string& name) override;
  Result<poller::File> open_append(const poller::Directory& at, const std::string& name) override;
  Result<poller::File> create_exclusive(const poller::Directory& at, const std::string& name, unsigned mode) override;
  Result<poller::FileStat> stat_at(const poller::Directory& at, const std::string& name) override;
  Result<poller::FileStat> stat(const poller::File& file) override;
  Result<std::size_t> read_at(const poller::File& file, char* buffer, std::size_t size, std::uint64_t offset) override;
  Status write_at(const poller::File& file, std::string_view bytes, std::uint64_t offset) override;
  Status append(const poller::File& file, std::string_view bytes) override;
  Status truncate(const poller::File& file, std::uint64_t size) override;
  Result<bool> set_lease(const poller::File& file, poller::Lease lease) override;
  bool lease_is_wanted(const poller::File&) override { return false; }
  Status sync(const poller::File& file) override;
  Status sync_dir(const poller::Directory& directory) override;
  Status rename_at(const poller::Directory& at, const std::string& from, const std::string& to) override;
  Status exchange_at(const poller::Directory& at, const std::string& one, const std::string& other) override;
  Status move(const poller::Directory& from, const std::string& name, const poller::Directory& to,
              const std::string& as, poller::Onto onto) override;
  Status swap(const poller::Directory& at, const std::string& one, const poller::Directory& there,
              const std::string& other) override;
  Status unlink_at(const poller::Directory& at, const std::string& name) override;
  Status mkdir_at(const poller::Directory& at, const std::string& name, unsigned mode) override;
  Status rmdir_at(const poller::Directory& at, const std::string& name) override;
  Result<std::vector<std::string>> list(const poller::Directory& directory) override;
  [[nodiscard]] bool made_lock(const std::string& path) const {
    const auto node = disk_.find(path);
    return node && own_locks_.contains(node->ino);
  }
  Status lock(const poller::Fd& open, const std::string& path) override;

 private:
  struct Place;
  std::optional<Error> enter(const std::string& path, bool writes = false);
  Result<Place> place(const poller::Directory& at, const std::string& name, const char* action);
  NodePtr node_of(int fd) const;
  int open(NodePtr node);
  Result<poller::File> open_file(const poller::Directory& at, const std::string& name);

  Disk& disk_;
  Fate& fate_;
  std::map<int, NodePtr> open_;
  std::set<std::uint64_t> own_locks_;  // inodes
  std::uint64_t last_seen_ = 0;        // the inode that stat_at() found last
};

}  // namespace inbox_poller::sim
