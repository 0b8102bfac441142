// A team's roster as its clients keep it, `config.json`, guarded by `config.json.lock`.
// Invariants: those of arrays_mailbox.hpp; only a member's entry is ever taken out of it or put in. A file that holds nothing is
// filled again with what was last seen in it, and only when it is that very file and stays empty; what is torn is a
// person's to repair. Source: docs/reference/wire.md W3, W13.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "poller/mailbox/arrays/replacement.hpp"
#include "poller/mailbox/roster_store.hpp"

namespace inbox_poller::poller {

class RosterFile {
 public:
  RosterFile(FileSystem& files, const Clock& clock, std::uint64_t size_limit)
      : files_(files), clock_(clock), size_limit_(size_limit), locks_(files, clock) {}

  /// The first call also removes temporary files that a killed predecessor left.
  Result<schema::Roster> read(const Directory& team);
  /// True when what read() last returned is certainly what a file of this version holds.
  [[nodiscard]] bool is_as_read(const FileVersion& now) const { return read_ && *read_ == now; }
  /// read() could not be called: there is no team.
  void forget() { read_.reset(); }

  [[nodiscard]] const RosterCopy& copy() const { return copy_; }
  void remember(RosterCopy copy) { copy_ = std::move(copy); }
  [[nodiscard]] bool is_lost() const;

  WriteResult remove_member(const Directory& team, const std::string& name);
  WriteResult add_member(const Directory& team, const std::string& name, const std::string& entry);
  WriteResult mend(const Directory& team, const std::vector<std::string>& without);

 private:
  /// A file that holds nothing.
  struct Blank {
    FileVersion version;
    SteadyTime::duration lasted{};  // as far as we looked
    SteadyTime looked{};
  };

  Error see_blank(const Snapshot&, const std::string& path);
  using Edit = std::function<Result<std::string>(std::string_view bytes)>;
  /// What `edit` makes of the roster, tried again when others write it at the same moment.
  WriteResult change(const Directory& team, const Edit& edit);
  WriteResult change_once(const Directory& team, const Edit& edit);

  FileSystem& files_;
  const Clock& clock_;
  std::uint64_t size_limit_;  // bytes
  LockDirectory locks_;
  std::optional<FileVersion> read_;  // what read() returned, when a version alone tells it from later ones
  RosterCopy copy_;
  std::optional<Blank> blank_;  // as the last read() found it
  bool litter_removed_ = false;
};

}  // namespace inbox_poller::poller
