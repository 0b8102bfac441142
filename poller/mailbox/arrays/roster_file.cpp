#include "poller/mailbox/arrays/roster_file.hpp"

#include <algorithm>
#include <utility>

namespace inbox_poller::poller {

namespace {

constexpr const char* roster_file = "config.json";
constexpr int optimistic_rounds = 3;
/// Time after which an empty roster is lost. A client that rewrites it in place writes the new bytes within
/// milliseconds. File systems distinguish two writes within two seconds.
constexpr std::chrono::seconds stays_empty{3};
/// Longest time that counts between two reads: this process may have been stopped together with the writer.
constexpr std::chrono::seconds counted_gap{1};

/// True for no bytes, or white space only. Any other content is part of a roster.
bool is_blank(std::string_view bytes) { return bytes.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

Result<schema::Roster> RosterFile::read(const Directory& team) {
  read_.reset();
  const auto blank = std::exchange(blank_, std::nullopt);
  if (!std::exchange(litter_removed_, true))
    if (const auto names = files_.list(team)) remove_litter(files_, team, *names);
  const Snapshot snapshot = take_snapshot(files_, clock_, team, roster_file, size_limit_);
  const std::string path = team.path + "/" + roster_file;
  if (snapshot.outcome == ReadOutcome::missing) {
    copy_ = {};
    return Error{"roster.missing", path + " does not exist: the team is not there yet"};
  }
  if (snapshot.outcome != ReadOutcome::document) return Error{"roster.unreadable", snapshot.detail};
  if (is_blank(snapshot.bytes)) {
    blank_ = blank;
    return see_blank(snapshot, path);
  }
  Result<schema::Roster> roster = schema::decode_roster(snapshot.bytes);
  if (!roster) return in_context(path, roster.error());
  if (snapshot.settled) read_ = snapshot.version;
  if (copy_.bytes != snapshot.bytes) copy_.bytes = snapshot.bytes;
  copy_.file = snapshot.version.ino;
  return roster;
}

Error RosterFile::see_blank(const Snapshot& snapshot, const std::string& path) {
  const auto now = clock_.steady();
  if (!blank_ || blank_->version != snapshot.version) blank_ = Blank{snapshot.version, {}, now};
  blank_->lasted += std::min<SteadyTime::duration>(now - blank_->looked, counted_gap);
  blank_->looked = now;
  const std::string what = path + " holds nothing (" + std::to_string(snapshot.version.size) +
                           " bytes), as a client leaves it that dies while it writes; ";
  const bool known = !copy_.bytes.empty() && copy_.file == snapshot.version.ino;
  return {is_lost() ? "roster.lost" : "roster.empty", what + (known ? "what was last seen in it is put back when it stays so"
                                        : "what stood in it is not known here: restore the file, or end the team")};
}

bool RosterFile::is_lost() const {
  return blank_ && !copy_.bytes.empty() && copy_.file == blank_->version.ino && blank_->lasted >= stays_empty;
}

WriteResult RosterFile::mend(const Directory& team, const std::vector<std::string>& without) {
  const Snapshot snapshot = take_snapshot(files_, clock_, team, roster_file, size_limit_);
  if (snapshot.outcome != ReadOutcome::document) return stopped_by(snapshot);
  if (!is_lost() || snapshot.version != blank_->version) return stopped(WriteOutcome::changed, {});
  std::string wanted = copy_.bytes;
  for (const std::string& name : without)
    if (auto rest = schema::without_member(wanted, name)) wanted = *std::move(rest);
  WriteResult result = replace(files_, locks_, team, roster_file, snapshot, wanted);
  if (result.outcome != WriteOutcome::done) return result;
  if (const Status synced = files_.sync_dir(team); !synced.ok())
    return stopped(WriteOutcome::fault, "mended, but perhaps not lasting: " + synced.error().message);
  return result;
}

WriteResult RosterFile::remove_member(const Directory& team, const std::string& name) {
  return change(team, [&](std::string_view bytes) { return schema::without_member(bytes, name); });
}

WriteResult RosterFile::add_member(const Directory& team, const std::string& name, const std::string& entry) {
  return change(team, [&](std::string_view bytes) { return schema::with_member(bytes, name, entry); });
}

WriteResult RosterFile::change(const Directory& team, const Edit& edit) {
  if (const Result<std::vector<std::string>> names = files_.list(team); names.ok()) remove_litter(files_, team, *names);
  WriteResult result = stopped(WriteOutcome::changed, {});
  for (int round = 0; round < optimistic_rounds && result.outcome == WriteOutcome::changed; ++round)
    result = change_once(team, edit);
  if (result.outcome != WriteOutcome::done && result.outcome != WriteOutcome::already_there) return result;
  // Sync also for `already_there`: the change may be ours, made just before a crash.
  if (const Status synced = files_.sync_dir(team); !synced.ok())
    return stopped(WriteOutcome::fault, "changed, but perhaps not lasting: " + synced.error().message);
  return result;
}

WriteResult RosterFile::change_once(const Directory& team, const Edit& edit) {
  const Snapshot snapshot = take_snapshot(files_, clock_, team, roster_file, size_limit_);
  if (snapshot.outcome != ReadOutcome::document) return stopped_by(snapshot);
  const std::string path = team.path + "/" + roster_file;
  // The whole file must be a roster, not only the part that is cut. A client that died while writing leaves half a
  // roster, which a person has to fix. An empty file is restored by mend().
  const Result<schema::Roster> roster = schema::decode_roster(snapshot.bytes);
  if (!roster && !snapshot.settled) return stopped(WriteOutcome::changed, path + " is being written by another program");
  if (!roster && is_blank(snapshot.bytes))
    return stopped(WriteOutcome::refused, path +
                                              " holds nothing; what was last seen in it is put back when it stays so. "
                                              "Repair it if that is not known");
  if (!roster)
    return stopped(WriteOutcome::refused,
                   path + " cannot be read as a roster (" + roster.error().message + "); it is left as it is. Repair it");
  const Result<std::string> wanted = edit(snapshot.bytes);
  if (!wanted) return stopped(WriteOutcome::refused, path + ": " + wanted.error().message);
  if (*wanted == snapshot.bytes) return stopped(WriteOutcome::already_there, {});
  return replace(files_, locks_, team, roster_file, snapshot, *wanted);
}

}  // namespace inbox_poller::poller
