// The inboxes of a team as agent clients keep them: `<team>/inboxes/<name>.json`, one JSON array each, guarded by
// `<name>.json.lock` directories. The files and nothing else: what is new to whom, and when to try again, is the
// mailbox's. All calls return at once.
// Invariants: a file is only ever changed under its lock; under it nothing is parsed, logged or synced (an old client
// that meets a held lock loses its message; the one exception is an append that lost several races). A file that we
// could not parse is never written. No link is followed, nothing but regular files is opened, and a folder that others
// may write to is refused. The team's folders are opened anew for every call, or once for the looks of a poll: they
// appear, vanish and are replaced at any time. Source: docs/reference/wire.md W1, W6, W7, W9 to W14.
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
  /// `team_dir` is absolute and its last component must not be a link. It need not exist (yet). No file over
  /// `size_limit` bytes is read.
  ArrayInboxes(FileSystem& files, const Clock& clock, std::string team_dir, std::string team, std::uint64_t size_limit);

  Result<Directory> open_team();
  /// Looks at the folder of the inboxes by its name. When it has the version of the one that was last reached step by step,
  /// the looks that follow in this poll rely on it.
  void look_by_name();
  /// The looks that follow are another poll's.
  void close_folder() {
    inboxes_.reset();
    rests_ = false;
  }

  /// One stat, no open. `changed` is also reported for a file so young that its time stamp cannot yet tell two writes
  /// apart.
  GlanceResult glance(const std::string& inbox);

  /// Reads the inbox. After a `document` outcome, later glances compare with the version read here.
  ReadResult read(const std::string& inbox, ReadMode mode);

  /// read() for whoever comes again and again: entries that remember() covers are left out while their bytes are the
  /// same, and only a window of a large file is at hand.
  ReadResult read_news(const std::string& inbox, ReadMode mode);
  /// Puts the bytes of that window at hand. False when they are not there any more: the reading ends here.
  bool show(ReadResult& reading, std::size_t window);
  /// The entries of the window that is at hand are dealt with: of those that follow the head without a gap, the ones
  /// that are marked read need not be shown again. To be called for one window after the other. Returns how many
  /// entries of the document are known now.
  std::size_t remember(const std::string& inbox, ReadResult& reading, std::size_t window);
  /// What remember() covers.
  [[nodiscard]] const PrefixCache& known(const std::string& inbox) const;
  /// Glances tell of a change, whatever was read last.
  void see_as_changed(const std::string& inbox);
  /// Whoever reads this inbox next has never seen it.
  void forget(const std::string& inbox);

  /// Sets the read flag of these entries of `document` (as returned by read()), under the lock, in place where that can
  /// be done, and by replacement where the flag is absent or lies across a sector's end. Where both are needed, those
  /// in place come first, and the outcome is `changed`: the others are set when the file has been read again. Holds the
  /// lock for a bounded number of entries at a time.
  WriteResult mark_read(const std::string& inbox, const InboxDocument& document,
                        std::span<const std::size_t> indexes);
  /// Sets the flags of these by replacing the file, if `windows` of it are what they were read as; `changed` otherwise.
  /// Whatever window is at hand. When it is done, `file` holds what is there now.
  WriteResult replace_marked(const std::string& inbox, const InboxDocument& document,
                             std::span<const std::size_t> indexes, std::span<const Window> windows, std::string& file);

  /// One entry, as encode_entry() gives it, that is to be appended; and what came of it.
  struct Appended {
    std::string entry;
    AppendReceipt receipt{};
    WriteResult result{};
  };
  /// Appends them together, in this order, creating the inbox if it is missing. Looks first: an entry with the same key
  /// there already is `already_there`. The new bytes are on the disk before the lock is taken; under it there is a check
  /// and a rename, however many they are.
  void append(const std::string& inbox, std::span<Appended> batch);
  WriteResult append(const std::string& inbox, std::string_view entry, AppendReceipt& receipt);

  /// Takes these entries of `document` (all of the file, as read() gives it) out of the inbox, under the lock; what
  /// remember() covers of the others stays covered. For a person's `inbox clear` and for compaction. After a `fault` it
  /// is not known whether they are gone.
  WriteResult remove(const std::string& inbox, const InboxDocument& document,
                     std::span<const std::size_t> indexes);

  /// From now on glances() looks at a part of what was at rest only, so that calls `interval` apart come around in five
  /// seconds. Zero: at everything each time.
  void look_in_turn(SteadyTime::duration interval) { turns_.take(interval); }
  [[nodiscard]] bool looks_in_turn() const { return turns_.are_taken(); }
  /// A glance at each inbox of the team (valid names only), sorted by name; valid until the next call. The first call
  /// also removes temporary files that a killed predecessor left.
  Result<std::span<const InboxGlance>> glances();
  /// Whether the last two of them found the same inboxes, all unchanged, and none was read in between.
  [[nodiscard]] bool rest() const { return rest_; }
  /// How large the inbox was at the last of them; bytes.
  [[nodiscard]] std::uint64_t size_of(const std::string& inbox) const;

  [[nodiscard]] Contention contention() const { return locks_.statistics(); }
  [[nodiscard]] std::string path_of(const std::string& inbox) const;

 private:
  struct LastRead {
    FileVersion version;
    bool settled = false;
    SteadyTime since{};  // this version was there then
    /// True while the file is certainly as it was read.
    [[nodiscard]] bool is(const FileVersion& now) const { return settled && version == now; }
  };

  Result<Directory> open_inboxes();
  Result<Directory> open_inboxes(const Directory& team);
  /// As look_by_name() found it, once; opened now otherwise.
  Result<Directory> take_inboxes();
  Result<Directory> open_or_make_inboxes();
  GlanceResult compare(const std::string& inbox, const Result<FileStat>& found);
  /// Reads the folder's names anew.
  Status list(const Directory& folder);
  /// `known` null: all of it.
  ReadResult read_as(const std::string& inbox, ReadMode mode, const PrefixCache* known);
  [[nodiscard]] schema::KeyScope scope(const std::string& inbox) const { return {team_, inbox}; }

  WriteResult mark_in_place(const Directory& folder, const std::string& inbox, std::span<const InPlaceEdit> edits);
  /// Sets what lies close together: one look at the piece of the file, one write. `buffer` may hold anything.
  void flip(const File& file, const HeldLock& lock, std::span<const InPlaceEdit> run, std::string& buffer,
            WriteResult& result);
  /// One hold of the lock.
  void flip_all(const Directory& folder, const std::string& file, const HeldLock& lock,
                std::span<const InPlaceEdit> batch, std::string& buffer, WriteResult& result);
  WriteResult append_all(const std::string& inbox, std::span<Appended* const> batch);
  WriteResult append_once(const Directory& folder, const std::string& inbox, std::span<Appended* const> batch,
                          std::optional<HeldLock> lock);
  /// What is known of the head once these entries of the document are gone.
  void keep_known(const std::string& inbox, const InboxDocument& document, std::span<const std::size_t> removed,
                  std::string left);
  /// Puts `wanted` in the place of the document if that is still what is there.
  WriteResult rewrite(const Directory& folder, const std::string& inbox, const InboxDocument& document,
                      std::string_view wanted);

  FileSystem& files_;
  const Clock& clock_;
  std::string team_dir_;
  std::string inboxes_path_;
  std::string team_;
  std::uint64_t size_limit_;  // bytes
  LockDirectory locks_;
  std::map<std::string, LastRead> last_reads_;  // by inbox; what glance() compares with
  std::map<std::string, PrefixCache> known_;   // by inbox
  std::vector<InboxGlance> glances_;            // of all inboxes, as they were listed
  ScanRotation turns_;                                 // among them
  std::optional<Directory> inboxes_;            // open from look_by_name() to the glances() of the same poll
  bool rests_ = false;                          // so long: the folder is as it was listed, and was not opened
  std::optional<LastRead> listed_;              // the folder, opened step by step
  bool all_unchanged_ = false;                  // every one of them, and what was read of it last is known
  bool rest_ = false;
  bool litter_removed_ = false;
};

}  // namespace inbox_poller::poller
