// Files in memory, with the semantics of POSIX that the product relies on, and a disk below them: bytes that were not
// synced, and names of a folder that was not synced, may be lost when the power fails. A move between two folders is on
// the disk as a whole or not at all, and an emptied file stays empty once anything was synced later, as with a journal.
// Times are those of the world.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "poller/filesystem.hpp"
#include "tests/sim/fate.hpp"

namespace inbox_poller::sim {

struct Node {
  poller::FileKind kind = poller::FileKind::regular;
  std::uint64_t ino = 0;
  unsigned mode = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  Span made_at{};  // by the even clock
  std::string bytes;
  std::map<std::string, std::shared_ptr<Node>> names;  // of a folder
  std::string durable_bytes;
  std::int64_t durable_mtime_ns = 0, durable_ctime_ns = 0;  // the times of the durable bytes
  std::map<std::string, std::shared_ptr<Node>> durable_names;
  int readers = 0, writers = 0;                // descriptors of peers
  poller::Lease lease = poller::Lease::none;   // of the daemon
  bool lease_is_wanted = false;                // a peer waits for it
  const void* locked_by = nullptr;             // flock(2)
};
using NodePtr = std::shared_ptr<Node>;

/// An open file of a peer; the destructor closes it.
class PeerFile {
 public:
  PeerFile(NodePtr node, bool writes);
  ~PeerFile();
  PeerFile(const PeerFile&) = delete;
  PeerFile& operator=(const PeerFile&) = delete;
  [[nodiscard]] std::string read() const;
  /// Appends with one call.
  void append(const std::string& bytes);
  [[nodiscard]] const Node& node() const { return *node_; }

 private:
  NodePtr node_;
  bool writes_;
};

/// The medium. Its plain calls are those of the peers; all paths are absolute.
class Disk {
 public:
  Disk();
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  NodePtr find(const std::string& path) const;
  std::optional<std::string> read(const std::string& path) const;
  bool exists(const std::string& path) const { return find(path) != nullptr; }
  /// Truncates and writes in place, or creates the file.
  void write(const std::string& path, const std::string& bytes);
  /// Replaces the file by a new one, as a rename does.
  void replace(const std::string& path, const std::string& bytes);
  enum class As { read, append, truncate };
  struct Opened {
    std::shared_ptr<PeerFile> file;  // null: missing, or `waits`
    bool waits = false;              // the daemon has a lease: try again
    std::string cut;                 // what As::truncate removed
  };
  /// Opens a file of a peer. `append` and `truncate` also create it.
  Opened open(const std::string& path, As how);
  /// Gives a file another name, also in another folder. False: there is no such file.
  bool rename(const std::string& from, const std::string& to);
  bool unlink(const std::string& path);
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const;
  /// Makes the bytes of a file durable, not its name.
  void sync_file(const std::string& path);
  bool mkdir(const std::string& path);
  bool rmdir(const std::string& path);
  void make_folders(const std::string& path);
  /// Makes everything durable.
  void sync_all() { sync(*root_); }
  /// Loses some of what is not durable. `kept` is one in two for each file and each name.
  void lose_power(Dice& dice);

  NodePtr make(poller::FileKind kind, unsigned mode);
  /// Called when a daemon removes the lock of a peer that the peer may still hold, with the lock's age.
  std::function<void(const std::string& name, Span age)> on_stolen_lock = {};
  /// Called with each step of a peer by the calls below: lock, unlock, create, write, replace. For a comparison with real
  /// clients.
  std::function<void(const char* step)> on_step = {};
  NodePtr root() const { return root_; }
  /// A file was emptied: that is durable once the daemon has synced anything.
  void emptied(const NodePtr& node) { emptied_.push_back(node); }
  void synced() {
    for (const auto& node : std::exchange(emptied_, {})) {
      node->durable_bytes.clear();
      note_times(*node);
    }
  }
  static void note_times(Node& node) {
    node.durable_mtime_ns = node.mtime_ns;
    node.durable_ctime_ns = node.ctime_ns;
  }
  static void touch(Node& node) { node.mtime_ns = node.ctime_ns = system_ns(); }
  bool has_leases = true;      // false: as on a network file system
  bool has_watches = true;     // false: the limit of inotify is reached

 private:
  void step(const char* what) const {
    if (on_step) on_step(what);
  }
  static void sync(Node& node);
  static void lose(Node& node, Dice& dice);
  std::pair<NodePtr, std::string> parent(const std::string& path) const;
  NodePtr root_;
  std::vector<NodePtr> emptied_;
  std::uint64_t inodes_ = 0;
};

/// The file with this path on the disk that has it and whose watches are not used up; null if there is none.
NodePtr watchable(const std::string& path);

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
  bool lease_is_wanted(const poller::File& file) override;
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
  struct Spot;
  std::optional<Error> enter(const std::string& path, bool writes = false);
  Result<Spot> place(const poller::Directory& at, const std::string& name, const char* action);
  NodePtr node_of(int fd) const;
  int open(NodePtr node);
  Result<poller::File> open_file(const poller::Directory& at, const std::string& name);

  void closed(int fd);
  void release(const NodePtr& node);

  Disk& disk_;
  Fate& fate_;
  std::map<int, NodePtr> open_;
  std::set<NodePtr> held_;         // with a lease
  std::map<int, NodePtr> locks_;   // with flock(2)
  std::set<std::uint64_t> own_locks_;  // inodes
  std::uint64_t last_seen_ = 0;        // the inode that stat_at() found last
};

}  // namespace inbox_poller::sim
