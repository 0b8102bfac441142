// The mailbox of a team as agent clients keep it: `<team>/inboxes/<name>.json`, one JSON array each, guarded by
// `<name>.json.lock` directories; `<team>/config.json`, the roster; and a task list.
// Invariants: a file is only ever changed under its lock; under it nothing is parsed, logged or synced (an old client
// that meets a held lock loses its message; the one exception is an append that lost several races). A file that we
// could not parse is never written. No link is followed, nothing but regular files is opened, and a folder that others
// may write to is refused. The team's folders are opened anew for every call, or once for the looks of a poll: they
// appear, vanish and are replaced at any time. Source: docs/wire.md W1, W6, W7, W9 to W14.
#pragma once

#include <map>
#include <string>

#include "config/config.hpp"
#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/arrays/inbox_reading.hpp"
#include "poller/mailbox/arrays/replacement.hpp"
#include "poller/mailbox/arrays/roster_file.hpp"
#include "poller/mailbox/arrays/team_files.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

class ArraysMailbox final : public Mailbox {
 public:
  /// `team_dir` is absolute and its last component must not be a link. It need not exist (yet). `tasks_dir`: the team's
  /// task list, likewise; empty when there is none.
  ArraysMailbox(FileSystem& files, const Clock& clock, std::string team_dir, std::string team,
                const config::Limits& limits, std::string tasks_dir = {});

  GlanceResult glance(const std::string& inbox) override;
  ReadResult read(const std::string& inbox, ReadMode mode) override;
  ReadResult read_news(const std::string& inbox, ReadMode mode) override;
  bool show(ReadResult& reading, std::size_t window) override;
  std::size_t remember(const std::string& inbox, ReadResult& reading, std::size_t window) override;
  [[nodiscard]] const KnownEntries& known(const std::string& inbox) const override;
  void forget(const std::string& inbox) override;
  WriteResult mark_read(const std::string& inbox, const schema::InboxDocument& document,
                        std::span<const std::size_t> indexes) override;
  WriteResult append(const std::string& inbox, std::string_view entry, AppendReceipt& receipt) override;
  WriteResult remove(const std::string& inbox, const schema::InboxDocument& document,
                     std::span<const std::size_t> indexes) override;
  /// The first call also removes temporary files that a killed predecessor left.
  Result<std::vector<std::string>> inboxes() override;
  Result<std::span<const InboxGlance>> glances() override;
  bool roster_changed() override;
  Result<schema::Roster> roster() override;
  [[nodiscard]] const RosterCopy& roster_copy() const override { return roster_.copy(); }
  void remember_roster(RosterCopy copy) override { roster_.remember(std::move(copy)); }
  [[nodiscard]] bool roster_is_lost() const override { return roster_.is_lost(); }
  WriteResult mend_roster(const std::vector<std::string>& without) override;
  WriteResult remove_member(const std::string& name) override;
  TasksReleased release_tasks(const std::string& name, const std::string& agent_id) override;
  [[nodiscard]] LockStatistics lock_statistics() const override { return locks_.statistics(); }

 private:
  struct Flip {
    const schema::InPlaceEdit* edit;
    std::size_t at;          // where in the file the two texts begin to differ
    std::string_view after;  // the differing bytes, and what they replace
    std::string_view before;
  };
  struct LastRead {
    FileVersion version;
    bool settled = false;
    SteadyTime since{};  // this version was there then
    /// True while the file is certainly as it was read.
    [[nodiscard]] bool is(const FileVersion& now) const { return settled && version == now; }
  };

  Result<Directory> open_team();
  Result<Directory> open_inboxes();
  Result<Directory> open_inboxes(const Directory& team);
  /// As roster_changed() found it, once; opened now otherwise.
  Result<Directory> take_inboxes();
  Result<Directory> open_or_make_inboxes();
  GlanceResult compare(const std::string& inbox, const Result<FileStat>& found);
  /// Reads the folder's names anew.
  Status list(const Directory& folder);
  /// `known` null: all of it.
  ReadResult read_as(const std::string& inbox, ReadMode mode, const KnownEntries* known);
  [[nodiscard]] schema::KeyScope scope(const std::string& inbox) const { return {team_, inbox}; }

  WriteResult mark_in_place(const Directory& folder, const std::string& inbox,
                            const std::vector<schema::InPlaceEdit>& edits);
  void flip(const Directory& folder, const std::string& file, std::span<const Flip> batch, std::string& buffer,
            WriteResult& result);
  WriteResult mark_by_replacement(const Directory& folder, const std::string& inbox,
                                  const schema::InboxDocument& document, std::span<const std::size_t> indexes);
  WriteResult append_once(const Directory& folder, const std::string& inbox, std::string_view entry,
                          AppendReceipt& receipt, std::optional<HeldLock> lock);
  /// What is known of the head once these entries of the document are gone.
  void keep_known(const std::string& inbox, const schema::InboxDocument& document, std::span<const std::size_t> removed,
                  std::string left);
  /// Puts `wanted` in the place of the document if that is still what is there.
  WriteResult rewrite(const Directory& folder, const std::string& inbox, const schema::InboxDocument& document,
                      std::string_view wanted);

  FileSystem& files_;
  const Clock& clock_;
  std::string team_dir_;
  std::string roster_path_;
  std::string inboxes_path_;
  std::string team_;
  std::string tasks_dir_;
  std::uint64_t size_limit_;  // bytes
  LockDirectory locks_;
  RosterFile roster_;
  TeamFiles team_files_;
  std::map<std::string, LastRead> last_reads_;  // by inbox; what glance() compares with
  std::map<std::string, KnownEntries> known_;   // by inbox
  std::vector<InboxGlance> glances_;            // of all inboxes, as they were listed
  std::optional<Directory> inboxes_;            // open from roster_changed() to the glances() of the same poll
  std::optional<LastRead> listed_;              // the folder, opened step by step
  bool litter_removed_ = false;
};

}  // namespace inbox_poller::poller
