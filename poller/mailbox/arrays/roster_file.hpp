// A team's roster in the format of its clients: `config.json`, guarded by `config.json.lock`.
// Invariants: those of arrays_mailbox.hpp; only a member's entry is removed or added. A file without content is
// restored from its last known content, only if it is that very file and stays empty. A torn file is left to a person.
// Source: docs/reference/wire.md W3, W13.
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

  /// Reads the roster. Errors: "roster.missing", "roster.unreadable", "roster.empty", "roster.lost", and those of
  /// schema::decode_roster(). The first call also removes temporary files that a killed predecessor left.
  Result<schema::Roster> read(const Directory& team);
  /// True when a file of this version certainly has the content that read() last returned.
  [[nodiscard]] bool is_as_read(const FileVersion& now) const { return read_ && *read_ == now; }
  /// Drops the last read, because there is no team.
  void forget() { read_.reset(); }

  [[nodiscard]] const RosterCopy& copy() const { return copy_; }
  void remember(RosterCopy copy) { copy_ = std::move(copy); }

  WriteResult remove_member(const Directory& team, const std::string& name);
  WriteResult add_member(const Directory& team, const std::string& name, const std::string& entry);
  WriteResult mend(const Directory& team, const std::vector<std::string>& without);

 private:
  /// A roster file without content.
  struct Blank {
    FileVersion version;
    SteadyTime::duration lasted{};  // as far as read() observed it; gaps count at most 1 s
    SteadyTime looked{};
  };

  [[nodiscard]] bool is_lost() const;
  Error see_blank(const Snapshot&, const std::string& path);
  using Edit = std::function<Result<std::string>(std::string_view bytes)>;
  /// Replaces the roster by the result of `edit`; tries again when a peer writes at the same moment.
  WriteResult change(const Directory& team, const Edit& edit);
  WriteResult change_once(const Directory& team, const Edit& edit);

  FileSystem& files_;
  const Clock& clock_;
  std::uint64_t size_limit_;  // bytes
  LockDirectory locks_;
  std::optional<FileVersion> read_;  // the version that read() returned; empty unless it is settled
  RosterCopy copy_;
  std::optional<Blank> blank_;  // state of the last read()
  bool litter_removed_ = false;
};

}  // namespace inbox_poller::poller
