// The inboxes of a team in the format of agent clients: `<team>/inboxes/<name>.json`, one JSON array each, guarded by
// `<name>.json.lock` directories. The class knows only the files. The mailbox decides what is new to a reader, and
// when to retry. All calls return at once.
// Invariants: a file is only changed under its lock. Nothing is parsed, logged or synced under the lock, because an
// old client that meets a held lock loses its message. The one exception is an append that lost several races. A file
// that does not parse is never written. No link is followed, only regular files are opened, and a folder that others
// may write to is refused. Peers create, delete and replace the team's folders at any time. The folders are therefore
// opened again for every call, or once for the scans of a poll.
// Source: docs/reference/wire.md W1, W6, W7, W9 to W14.
#pragma once

#include <map>
#include <string>

#include "config/config.hpp"
#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/arrays/inbox_reading.hpp"
#include "poller/mailbox/arrays/replacement.hpp"
#include "poller/mailbox/arrays/lock_directory.hpp"
#include "poller/mailbox/scan_rotation.hpp"

namespace inbox_poller::poller {

class ArrayInboxes {
 public:
  /// Keeps references to `files` and `clock`, which must outlive this object. `team_dir` is absolute and need not
  /// exist yet; its last component must not be a link. Files over `size_limit` bytes are not read.
  ArrayInboxes(FileSystem& files, const Clock& clock, std::string team_dir, std::string team, std::uint64_t size_limit);

  Result<Directory> open_team();
  /// Stats the inbox folder by path. If its version is that of the folder last opened step by step, the following
  /// scans of this poll rely on it.
  void look_by_name();
  /// Ends the use of the folder for one poll; the following scans belong to another poll.
  void close_folder() {
    inboxes_.reset();
    rests_ = false;
  }

  /// Compares the inbox with the last read by one stat, without an open. Also returns `changed` for a file so young
  /// that its time stamp cannot distinguish two writes.
  GlanceResult glance(const std::string& inbox);

  /// Reads the inbox. After a `document` outcome, later calls of glance() compare with the version read here.
  ReadResult read(const std::string& inbox, ReadMode mode);

  /// Reads like read(), for a regular reader: skips entries that remember() covers while their bytes are the same.
  /// Only one window of a large file is in memory.
  ReadResult read_news(const std::string& inbox, ReadMode mode);
  /// Loads the bytes of that window. Returns false when the file no longer has them; this reading ends then.
  bool show(ReadResult& reading, std::size_t window);
  /// Records that the entries of the loaded window are dealt with. Entries marked read that follow the head without a
  /// gap need not be shown again. Call it for the windows in order. Returns the number of entries of the document that
  /// are known now.
  std::size_t remember(const std::string& inbox, ReadResult& reading, std::size_t window);
  /// Returns the cache of the entries that remember() covers.
  [[nodiscard]] const PrefixCache& known(const std::string& inbox) const;
  /// Makes the next glance() report `changed`.
  void see_as_changed(const std::string& inbox);
  /// Drops all cached state of this inbox; the next read starts from the beginning.
  void forget(const std::string& inbox);

  /// Sets the read flag of these entries of `document` (as read() returned it) under the lock. Works in place where
  /// possible, and by replacement where the flag is absent or crosses the end of a sector. If both are needed, the
  /// flags in place come first and the outcome is `changed`. The others are set after the file has been read again.
  /// Holds the lock for a bounded number of entries at a time.
  WriteResult mark_read(const std::string& inbox, const InboxDocument& document,
                        std::span<const std::size_t> indexes);
  /// Sets the flags of these entries by replacing the file, if its `windows` have the bytes that were read; `changed`
  /// otherwise. Any window may be loaded. After `done`, `file` has the new content.
  WriteResult replace_marked(const std::string& inbox, const InboxDocument& document,
                             std::span<const std::size_t> indexes, std::span<const Window> windows, std::string& file);

  /// One entry to append, encoded by encode_entry(), and the result of the append.
  struct Appended {
    std::string entry;
    AppendReceipt receipt{};
    WriteResult result{};
  };
  /// Appends the entries together, in this order, and creates a missing inbox. Reads the file first: the result is
  /// `already_there` if it has an entry with the same key. The new bytes are on the disk before the lock is taken.
  /// Under the lock there is one check and one rename, for any number of entries.
  void append(const std::string& inbox, std::span<Appended> batch);
  WriteResult append(const std::string& inbox, std::string_view entry, AppendReceipt& receipt);

  /// Removes these entries of `document` (all of the file, as read() returns it) from the inbox, under the lock. The
  /// other entries that remember() covers stay covered. Used by `inbox clear` and by compaction. After `fault` it is
  /// unknown whether the entries are gone.
  WriteResult remove(const std::string& inbox, const InboxDocument& document, std::span<const std::size_t> indexes);

  /// Makes glances() check only a part of the idle inboxes, so that calls `interval` apart come around in five
  /// seconds. Zero: check all of them each time.
  void rotate_scans(SteadyTime::duration interval) { turns_.take(interval); }
  [[nodiscard]] bool looks_in_turn() const { return turns_.are_taken(); }
  /// Checks each inbox of the team (valid names only), sorted by name. The view is valid until the next call. The
  /// first call also removes temporary files that a killed predecessor left. Errors: those of opening and listing the
  /// folder; a missing folder gives an empty list.
  Result<std::span<const InboxGlance>> glances();
  /// True if the last two calls of glances() found the same inboxes, all unchanged, and none was read in between.
  [[nodiscard]] bool rest() const { return rest_; }
  /// Returns the size of the inbox in bytes, as of the last glances(); 0 if it was not listed.
  [[nodiscard]] std::uint64_t size_of(const std::string& inbox) const;

  [[nodiscard]] Contention contention() const { return locks_.statistics(); }
  [[nodiscard]] std::string path_of(const std::string& inbox) const;

 private:
  struct LastRead {
    FileVersion version;
    bool settled = false;
    SteadyTime since{};  // steady clock; the first read of this version
    /// True while the file is certainly unchanged since the read.
    [[nodiscard]] bool is(const FileVersion& now) const { return settled && version == now; }
  };

  Result<Directory> open_inboxes();
  Result<Directory> open_inboxes(const Directory& team);
  /// Returns the folder that look_by_name() found, once; opens it otherwise.
  Result<Directory> take_inboxes();
  Result<Directory> open_or_make_inboxes();
  GlanceResult compare(const std::string& inbox, const Result<FileStat>& found);
  /// Reads the names in the folder again.
  Status list(const Directory& folder);
  /// Reads the inbox; `known` null reads all of it.
  ReadResult read_as(const std::string& inbox, ReadMode mode, const PrefixCache* known);
  [[nodiscard]] schema::KeyScope scope(const std::string& inbox) const { return {team_, inbox}; }

  WriteResult mark_in_place(const Directory& folder, const std::string& inbox, std::span<const InPlaceEdit> edits);
  /// Sets flags that lie close together with one read and one write. `buffer` may hold anything.
  void flip(const File& file, const HeldLock& lock, std::span<const InPlaceEdit> run, std::string& buffer,
            WriteResult& result);
  /// Sets the flags of `batch` during one hold of the lock.
  void flip_all(const Directory& folder, const std::string& file, const HeldLock& lock,
                std::span<const InPlaceEdit> batch, std::string& buffer, WriteResult& result);
  WriteResult append_all(const std::string& inbox, std::span<Appended* const> batch);
  WriteResult append_once(const Directory& folder, const std::string& inbox, std::span<Appended* const> batch,
                          std::optional<HeldLock> lock);
  /// Rebuilds the cache of the head after these entries of the document were removed.
  void keep_known(const std::string& inbox, const InboxDocument& document, std::span<const std::size_t> removed,
                  std::string left);
  /// Replaces the document by `wanted`, if the file still has the document's bytes.
  WriteResult rewrite(const Directory& folder, const std::string& inbox, const InboxDocument& document,
                      std::string_view wanted);

  FileSystem& files_;
  const Clock& clock_;
  std::string team_dir_;
  std::string inboxes_path_;
  std::string team_;
  std::uint64_t size_limit_;  // bytes
  LockDirectory locks_;
  std::map<std::string, LastRead> last_reads_;  // by inbox; compared with by glance()
  std::map<std::string, std::pair<FileVersion, SteadyTime>> in_the_way_;  // by inbox: what delays an append, since when
  std::map<std::string, PrefixCache> known_;   // by inbox
  std::vector<InboxGlance> glances_;            // of all inboxes, in the order of the list
  ScanRotation turns_;                                 // over `glances_`
  std::optional<Directory> inboxes_;            // open from look_by_name() to the glances() of the same poll
  bool rests_ = false;                          // within a poll: the folder is as listed, and was not opened
  std::optional<LastRead> listed_;              // the folder's version, opened step by step
  bool all_unchanged_ = false;                  // all inboxes, and the last read of each is known
  bool rest_ = false;
  bool litter_removed_ = false;
};

}  // namespace inbox_poller::poller
