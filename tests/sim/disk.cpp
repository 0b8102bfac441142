#include "tests/sim/disk.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tests/sim/file_events.hpp"

namespace inbox_poller::sim {

using poller::FileKind;
using poller::io_error;

namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

NodePtr walk(NodePtr node, const std::vector<std::string>& parts, std::size_t count) {
  for (std::size_t i = 0; node && i < count; ++i) {
    const auto found = node->names.find(parts[i]);
    node = found == node->names.end() ? nullptr : found->second;
  }
  return node;
}

poller::FileStat stat_of(const Node& node) {
  poller::FileStat stat;
  stat.dev = 1;
  stat.ino = node.ino;
  stat.kind = node.kind;
  stat.size = node.bytes.size();
  stat.mtime_ns = node.mtime_ns;
  stat.ctime_ns = node.ctime_ns;
  stat.mode = node.mode;
  static const auto self = ::geteuid();  // every look at a file asks
  stat.uid = self;
  stat.links = 1;
  return stat;
}

std::set<const Disk*>& disks() {
  static std::set<const Disk*> all;
  return all;
}

/// The regular files that are reachable, by number, with where their names are.
struct Place {
  NodePtr folder;
  std::string name;
  bool operator==(const Place&) const = default;
};
struct Placed {
  NodePtr node;
  std::vector<Place> places;
};
using Files = std::map<std::uint64_t, Placed>;
void collect(const NodePtr& folder, bool durable, Files& files) {
  for (const auto& [name, child] : durable ? folder->durable_names : folder->names) {
    if (child->kind == FileKind::directory) {
      collect(child, durable, files);
    } else {
      auto& [node, places] = files[child->ino];
      node = child;
      places.push_back({folder, name});
    }
  }
}

}  // namespace

// --- a peer's file ---

PeerFile::PeerFile(NodePtr node, bool writes) : node_(std::move(node)), writes_(writes) {
  ++(writes_ ? node_->writers : node_->readers);
  note_event(*node_, IN_OPEN);
}

PeerFile::~PeerFile() {
  --(writes_ ? node_->writers : node_->readers);
  note_event(*node_, writes_ ? IN_CLOSE_WRITE : IN_CLOSE_NOWRITE);
}

std::string PeerFile::read() const {
  if (!node_->bytes.empty()) note_event(*node_, IN_ACCESS);
  return node_->bytes;
}

void PeerFile::append(const std::string& bytes) {
  node_->bytes += bytes;
  Disk::touch(*node_);
  note_event(*node_, IN_MODIFY);
}

// --- the medium ---

Disk::Disk() : root_(make(FileKind::directory, 0700)) { disks().insert(this); }
Disk::~Disk() { disks().erase(this); }

NodePtr watchable(const std::string& path) {
  for (const auto* disk : disks())
    if (auto node = disk->find(path); node && disk->has_watches) return node;
  return nullptr;
}

Disk::Opened Disk::open(const std::string& path, As how) {
  const auto [folder, name] = parent(path);
  if (!folder) return {};
  const auto found = folder->names.find(name);
  if (found == folder->names.end() && how == As::read) return {};
  auto node = found == folder->names.end() ? nullptr : found->second;
  if (!node) {
    node = folder->names[name] = make(FileKind::regular, 0600);
    touch(*folder);
  }
  if (node->lease == poller::Lease::write || (node->lease == poller::Lease::read && how != As::read)) {
    node->lease_is_wanted = true;
    return {nullptr, true, {}};
  }
  Opened opened{std::make_shared<PeerFile>(node, how != As::read), false, {}};
  if (how == As::truncate) {
    opened.cut = std::exchange(node->bytes, {});
    emptied(node);
    touch(*node);
    note_event(*node, IN_MODIFY);
  }
  return opened;
}

bool Disk::rename(const std::string& from, const std::string& to) {
  const auto [old, name] = parent(from);
  const auto [fresh, as] = parent(to);
  const auto found = old ? old->names.find(name) : std::map<std::string, NodePtr>::iterator();
  if (!old || !fresh || found == old->names.end()) return false;
  auto node = found->second;
  old->names.erase(found);
  node->ctime_ns = system_ns();
  note_event(*node, IN_MOVE_SELF);
  fresh->names[as] = std::move(node);
  touch(*old);
  touch(*fresh);
  return true;
}

bool Disk::unlink(const std::string& path) {
  const auto [folder, name] = parent(path);
  if (!folder) return false;
  const auto found = folder->names.find(name);
  if (found == folder->names.end()) return false;
  note_event(*found->second, IN_DELETE_SELF);
  folder->names.erase(found);
  touch(*folder);
  return true;
}

std::vector<std::string> Disk::list(const std::string& path) const {
  std::vector<std::string> names;
  if (const auto folder = find(path))
    for (const auto& [name, node] : folder->names) names.push_back(name);
  return names;
}

void Disk::sync_file(const std::string& path) {
  const auto node = find(path);
  if (!node) return;
  node->durable_bytes = node->bytes;
  note_times(*node);
}

NodePtr Disk::make(FileKind kind, unsigned mode) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->mode = mode;
  node->ino = ++inodes_;
  node->made_at = now();
  touch(*node);
  note_times(*node);
  return node;
}

NodePtr Disk::find(const std::string& path) const {
  const auto parts = parts_of(path);
  return walk(root_, parts, parts.size());
}

std::pair<NodePtr, std::string> Disk::parent(const std::string& path) const {
  const auto parts = parts_of(path);
  return {walk(root_, parts, parts.size() - 1), parts.back()};
}

std::optional<std::string> Disk::read(const std::string& path) const {
  const auto node = find(path);
  return node ? std::optional(node->bytes) : std::nullopt;
}

void Disk::write(const std::string& path, const std::string& bytes) {
  const auto [folder, name] = parent(path);
  auto& node = folder->names[name];
  if (!node) {
    node = make(FileKind::regular, 0600);
    touch(*folder);
    step("create");
  }
  node->bytes = bytes;
  touch(*node);
  step("write");
}

void Disk::replace(const std::string& path, const std::string& bytes) {
  const auto [folder, name] = parent(path);
  auto node = make(FileKind::regular, 0600);
  node->bytes = bytes;
  folder->names[name] = std::move(node);
  touch(*folder);
  step("replace");
}

bool Disk::mkdir(const std::string& path) {
  const auto [folder, name] = parent(path);
  if (!folder->names.emplace(name, nullptr).second) return false;
  folder->names[name] = make(FileKind::directory, 0700);
  touch(*folder);
  step("lock");
  return true;
}

bool Disk::rmdir(const std::string& path) {
  const auto [folder, name] = parent(path);
  if (folder->names.erase(name) == 0) return false;
  touch(*folder);
  step("unlock");
  return true;
}

void Disk::make_folders(const std::string& path) {
  const auto parts = parts_of(path);
  NodePtr node = root_;
  for (const auto& part : parts) {
    auto& next = node->names[part];
    if (!next) next = make(FileKind::directory, 0700);
    node = next;
  }
}

void Disk::sync(Node& node) {
  node.durable_bytes = node.bytes;
  node.durable_names = node.names;
  note_times(node);
  for (auto& [name, child] : node.names) sync(*child);
}

void Disk::lose(Node& node, Dice& dice) {
  if (node.bytes != node.durable_bytes && dice.one_in(2)) {
    node.bytes = node.durable_bytes;
    node.mtime_ns = node.durable_mtime_ns;
    node.ctime_ns = node.durable_ctime_ns;
  }
  if (node.names != node.durable_names) {
    auto names = node.durable_names;
    for (const auto& [name, child] : node.names)
      if (dice.one_in(2)) names[name] = child;
    for (const auto& [name, child] : node.durable_names)
      if (!node.names.contains(name) && dice.one_in(2)) names.erase(name);
    node.names = std::move(names);
  }
  for (auto& [name, child] : node.names) lose(*child, dice);
  node.durable_bytes = node.bytes;
  node.durable_names = node.names;
  note_times(node);
}

void Disk::lose_power(Dice& dice) {
  Files before, last, now;
  collect(root_, true, before);
  collect(root_, false, last);
  emptied_.clear();
  lose(*root_, dice);
  collect(root_, false, now);
  // A file that was moved, or whose name was exchanged, has exactly one of its two names.
  for (const auto& [number, file] : before) {
    const auto moved = last.find(number);
    if (moved == last.end() || file.places.size() != 1 || moved->second.places.size() != 1) continue;
    const auto old = file.places.front(), fresh = moved->second.places.front();
    const auto places = now.contains(number) ? now[number].places : std::vector<Place>();
    if (old == fresh || places.size() == 1) continue;
    const bool goes_back = !old.folder->names.contains(old.name) && dice.one_in(2);
    const auto& kept = goes_back || (places.size() == 2 && dice.one_in(2)) ? old : fresh;
    for (const auto& place : places) place.folder->names.erase(place.name);
    kept.folder->names[kept.name] = file.node;
    for (const auto* one : {&old, &fresh}) one->folder->durable_names = one->folder->names;
  }
}

// --- a daemon's calls ---

struct SimFiles::Spot {
  NodePtr folder;
  std::string name, path;
  [[nodiscard]] NodePtr node() const {
    const auto found = folder->names.find(name);
    return found == folder->names.end() ? nullptr : found->second;
  }
};

SimFiles::SimFiles(Disk& disk, Fate& fate) : disk_(disk), fate_(fate) {
  on_close(this, [this](int fd) { closed(fd); });
}
SimFiles::~SimFiles() {
  on_close(this, {});
  for (const auto& node : held_) node->lease = poller::Lease::none;
  for (const auto& [fd, node] : locks_) node->locked_by = nullptr;
}

void SimFiles::release(const NodePtr& node) {
  if (held_.erase(node) > 0) node->lease = poller::Lease::none;
}

void SimFiles::closed(int fd) {
  const auto found = open_.find(fd);
  if (found == open_.end()) return;
  const auto node = found->second;
  open_.erase(found);
  if (fate_.is_dead) return;  // what it held goes with the object
  note_event(*node, IN_CLOSE_NOWRITE);
  if (locks_.erase(fd) > 0) node->locked_by = nullptr;
  const auto is_same = [&](const auto& one) { return one.second == node; };
  if (std::none_of(open_.begin(), open_.end(), is_same)) release(node);
}

std::optional<Error> SimFiles::enter(const std::string& path, bool writes) {
  if (fate_.next() != Fate::Turn::goes_on) return io_error(EIO, "(injected)", path);
  if (writes && fate_.disk_is_full) return io_error(ENOSPC, "(injected)", path);
  return std::nullopt;
}

NodePtr SimFiles::node_of(int fd) const {
  if (fd < 0) return disk_.root();
  const auto found = open_.find(fd);
  return found == open_.end() ? nullptr : found->second;
}

int SimFiles::open(NodePtr node) {
  const int descriptor = next_descriptor();
  note_event(*node, IN_OPEN);
  open_[descriptor] = std::move(node);
  return descriptor;
}

Result<SimFiles::Spot> SimFiles::place(const poller::Directory& at, const std::string& name, const char* action) {
  const std::string path = at.path.empty() ? name : at.path + "/" + name;
  auto parts = parts_of(name);
  if (parts.empty()) return io_error(EINVAL, action, path);
  auto folder = walk(node_of(at.fd.get()), parts, parts.size() - 1);
  if (!folder) return io_error(ENOENT, action, path);
  return Spot{std::move(folder), parts.back(), path};
}

Result<poller::Directory> SimFiles::open_dir(const poller::Directory& at, const std::string& name) {
  if (auto error = enter(name)) return *error;
  TRY(const auto found, place(at, name, "opening"));
  const auto node = found.node();
  if (!node) return io_error(ENOENT, "opening", found.path);
  if (node->kind != FileKind::directory)
    return Error{std::string(poller::code::untrusted), found.path + " is not a folder itself"};
  return poller::Directory{poller::Fd(open(node)), stat_of(*node), found.path};
}

Result<poller::File> SimFiles::open_file(const poller::Directory& at, const std::string& name) {
  TRY(const auto found, place(at, name, "opening"));
  const auto node = found.node();
  if (!node) return io_error(ENOENT, "opening", found.path);
  if (node->kind != FileKind::regular)
    return Error{std::string(poller::code::not_regular), found.path + " is not a regular file"};
  return poller::File{poller::Fd(open(node)), stat_of(*node), found.path};
}

Result<poller::File> SimFiles::open_read(const poller::Directory& at, const std::string& name) {
  if (auto error = enter(name)) return *error;
  return open_file(at, name);
}

Result<poller::File> SimFiles::open_update(const poller::Directory& at, const std::string& name) {
  if (auto error = enter(name)) return *error;
  return open_file(at, name);
}

Result<poller::File> SimFiles::open_append(const poller::Directory& at, const std::string& name) {
  if (auto error = enter(name, true)) return *error;
  TRY(const auto found, place(at, name, "opening"));
  if (!found.node()) {
    found.folder->names[found.name] = disk_.make(FileKind::regular, 0600);
    Disk::touch(*found.folder);
  }
  return open_file(at, name);
}

Result<poller::File> SimFiles::create_exclusive(const poller::Directory& at, const std::string& name, unsigned mode) {
  if (auto error = enter(name, true)) return *error;
  TRY(const auto found, place(at, name, "opening"));
  if (found.node()) return io_error(EEXIST, "opening", found.path);
  found.folder->names[found.name] = disk_.make(FileKind::regular, mode);
  Disk::touch(*found.folder);
  return open_file(at, name);
}

Result<poller::FileStat> SimFiles::stat_at(const poller::Directory& at, const std::string& name) {
  if (auto error = enter(name)) return *error;
  TRY(const auto found, place(at, name, "looking at"));
  const auto node = found.node();
  last_seen_ = node ? node->ino : 0;
  if (!node) return io_error(ENOENT, "looking at", found.path);
  return stat_of(*node);
}

Result<poller::FileStat> SimFiles::stat(const poller::File& file) {
  if (auto error = enter(file.path)) return *error;
  return stat_of(*node_of(file.fd.get()));
}

Result<std::size_t> SimFiles::read_at(const poller::File& file, char* buffer, std::size_t size, std::uint64_t offset) {
  if (auto error = enter(file.path)) return *error;
  const auto& bytes = node_of(file.fd.get())->bytes;
  if (offset >= bytes.size()) return std::size_t{0};
  const auto count = std::min<std::size_t>(size, bytes.size() - offset);
  std::memcpy(buffer, bytes.data() + offset, count);
  if (count > 0) note_event(*node_of(file.fd.get()), IN_ACCESS);
  return count;
}

Status SimFiles::write_at(const poller::File& file, std::string_view bytes, std::uint64_t offset) {
  const auto node = node_of(file.fd.get());
  const auto error = enter(file.path, offset + bytes.size() > node->bytes.size());  // in place, a full disk has room
  if (error && fate_.is_dead) return *error;
  if (error) bytes = bytes.substr(0, bytes.size() / 2);  // a failing write leaves a part
  if (node->bytes.size() < offset + bytes.size()) node->bytes.resize(offset + bytes.size());
  std::memcpy(node->bytes.data() + offset, bytes.data(), bytes.size());
  Disk::touch(*node);
  if (!bytes.empty()) note_event(*node, IN_MODIFY);
  return error ? Status(*error) : Status(Done{});
}

Status SimFiles::append(const poller::File& file, std::string_view bytes) {
  return write_at(file, bytes, node_of(file.fd.get())->bytes.size());
}

Status SimFiles::truncate(const poller::File& file, std::uint64_t size) {
  if (auto error = enter(file.path)) return *error;
  const auto node = node_of(file.fd.get());
  node->bytes.resize(size);
  if (size == 0) disk_.emptied(node);
  Disk::touch(*node);
  note_event(*node, IN_MODIFY);
  return Done{};
}

Result<bool> SimFiles::set_lease(const poller::File& file, poller::Lease lease) {
  if (fate_.next(false) != Fate::Turn::goes_on) return io_error(EIO, "(injected)", file.path);
  if (!disk_.has_leases) return io_error(EINVAL, "leasing", file.path);  // as on a network file system
  const auto node = node_of(file.fd.get());
  if (lease == poller::Lease::none) {
    release(node);
    return true;
  }
  const auto own = std::count_if(open_.begin(), open_.end(), [&](const auto& one) { return one.second == node; });
  const bool is_free = lease == poller::Lease::read ? node->writers == 0 : node->readers + node->writers == 0 && own == 1;
  if (!is_free) return false;
  node->lease = lease;
  node->lease_is_wanted = false;
  held_.insert(node);
  return true;
}

bool SimFiles::lease_is_wanted(const poller::File& file) { return node_of(file.fd.get())->lease_is_wanted; }

Status SimFiles::sync(const poller::File& file) {
  if (auto error = enter(file.path)) return *error;
  const auto node = node_of(file.fd.get());
  disk_.synced();
  node->durable_bytes = node->bytes;
  Disk::note_times(*node);
  return Done{};
}

Status SimFiles::sync_dir(const poller::Directory& directory) {
  if (auto error = enter(directory.path)) return *error;
  const auto node = node_of(directory.fd.get());
  disk_.synced();
  node->durable_names = node->names;
  return Done{};
}

Status SimFiles::rename_at(const poller::Directory& at, const std::string& from, const std::string& to) {
  return move(at, from, at, to, poller::Onto::anything);
}

Status SimFiles::exchange_at(const poller::Directory& at, const std::string& one, const std::string& other) {
  return swap(at, one, at, other);
}

Status SimFiles::move(const poller::Directory& from, const std::string& name, const poller::Directory& to,
                      const std::string& as, poller::Onto onto) {
  if (auto error = enter(as)) return *error;
  TRY(const auto old, place(from, name, "renaming"));
  TRY(const auto fresh, place(to, as, "renaming"));
  auto node = old.node();
  if (!node) return io_error(ENOENT, "renaming", old.path);
  if (onto == poller::Onto::nothing && fresh.node()) return io_error(EEXIST, "renaming", fresh.path);
  old.folder->names.erase(old.name);
  node->ctime_ns = system_ns();
  note_event(*node, IN_MOVE_SELF);
  fresh.folder->names[fresh.name] = std::move(node);
  Disk::touch(*old.folder);
  Disk::touch(*fresh.folder);
  return Done{};
}

Status SimFiles::swap(const poller::Directory& at, const std::string& one, const poller::Directory& there,
                      const std::string& other) {
  if (auto error = enter(other)) return *error;
  TRY(const auto left, place(at, one, "exchanging"));
  TRY(const auto right, place(there, other, "exchanging"));
  if (!left.node() || !right.node()) return io_error(ENOENT, "exchanging", right.path);
  for (const auto& node : {left.node(), right.node()}) {
    node->ctime_ns = system_ns();
    note_event(*node, IN_MOVE_SELF);
  }
  std::swap(left.folder->names[left.name], right.folder->names[right.name]);
  Disk::touch(*left.folder);
  Disk::touch(*right.folder);
  return Done{};
}

Status SimFiles::unlink_at(const poller::Directory& at, const std::string& name) {
  if (auto error = enter(name)) return *error;
  TRY(const auto found, place(at, name, "removing"));
  const auto node = found.node();
  if (!node) return io_error(ENOENT, "removing", found.path);
  if (node->kind == FileKind::directory) return io_error(EISDIR, "removing", found.path);
  note_event(*node, IN_DELETE_SELF);
  found.folder->names.erase(found.name);
  Disk::touch(*found.folder);
  return Done{};
}

Status SimFiles::mkdir_at(const poller::Directory& at, const std::string& name, unsigned mode) {
  if (auto error = enter(name, true)) return *error;
  TRY(const auto found, place(at, name, "making"));
  if (found.node()) return io_error(EEXIST, "making", found.path);
  found.folder->names[found.name] = disk_.make(FileKind::directory, mode & ~077U);
  own_locks_.insert(found.node()->ino);
  Disk::touch(*found.folder);
  return Done{};
}

Status SimFiles::rmdir_at(const poller::Directory& at, const std::string& name) {
  if (auto error = enter(name)) return *error;
  TRY(const auto found, place(at, name, "removing"));
  const auto node = found.node();
  if (!node) return io_error(ENOENT, "removing", found.path);
  if (node->kind != FileKind::directory) return io_error(ENOTDIR, "removing", found.path);
  if (!node->names.empty()) return io_error(ENOTEMPTY, "removing", found.path);
  // Between the last look and this call another lock may have come: nobody can see that (W10).
  constexpr Span abandoned = std::chrono::milliseconds(9900);
  const bool is_ours = own_locks_.contains(node->ino) || node->ino != last_seen_;
  if (const auto age = now() - node->made_at; !is_ours && age < abandoned && disk_.on_stolen_lock)
    disk_.on_stolen_lock(found.path, age);
  found.folder->names.erase(found.name);
  Disk::touch(*found.folder);
  return Done{};
}

Result<std::vector<std::string>> SimFiles::list(const poller::Directory& directory) {
  if (auto error = enter(directory.path)) return *error;
  std::vector<std::string> names;
  for (const auto& [name, node] : node_of(directory.fd.get())->names) names.push_back(name);
  return names;
}

Status SimFiles::lock(const poller::Fd& open, const std::string& path) {
  if (auto error = enter(path)) return *error;
  const auto node = node_of(open.get());
  if (node->locked_by != nullptr) return io_error(EAGAIN, "locking", path);
  node->locked_by = this;
  locks_[open.get()] = node;
  return Done{};
}

}  // namespace inbox_poller::sim
