// Posting to array inboxes, and the roster; reading is in arrays_reading.cpp.
#include <algorithm>

#include "poller/mailbox/arrays/array_entry.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"

namespace inbox_poller::poller {
namespace {

WriteReceipt told(WriteResult result) { return {put_of(result.outcome), std::move(result.detail)}; }

/// Syncs an inbox and its name.
WriteResult make_lasting(FileSystem& files, const Result<Directory>& team, const std::string& inbox) {
  if (!team) return stopped_by(team.error());
  const Result<Directory> folder = files.open_dir(*team, "inboxes");
  if (!folder) return stopped_by(folder.error());
  const Result<File> file = files.open_read(*folder, inbox_file_name(inbox));
  if (!file) return stopped_by(file.error());
  Status synced = files.sync(*file);
  if (synced.ok()) synced = files.sync_dir(*folder);
  return synced.ok() ? WriteResult{} : stopped_by(synced.error());
}

}  // namespace

ArraysSettings settings_of(const config::TeamConfig& config, const std::string& team) {
  ArraysSettings settings;
  settings.team_dir = config.team.root + "/" + team;
  settings.team = team;
  settings.tasks_dir = config.team.task_folder(team);
  settings.size_limit = config.limits.inbox_file.count;
  settings.poll_interval = config.team.poll_interval;
  return settings;
}

ArraysMailbox::ArraysMailbox(FileSystem& files, const Clock& clock, ArraysSettings settings)
    : files_(files),
      clock_(clock),
      settings_(std::move(settings)),
      roster_path_(settings_.team_dir + "/config.json"),
      inboxes_(files, clock, settings_.team_dir, settings_.team, settings_.size_limit),
      roster_(files, clock, settings_.size_limit),
      team_files_(files, clock, settings_.size_limit) {}

std::vector<WriteReceipt> ArraysMailbox::post(const std::string& inbox, std::span<const schema::Message> messages) {
  std::vector<ArrayInboxes::Appended> batch;
  for (const schema::Message& message : messages) batch.push_back({encode_entry(message)});
  inboxes_.append(inbox, batch);
  if (!batch.empty() && batch.front().receipt.was_cleared) tell_fates(inbox, nullptr);
  std::vector<WriteReceipt> results;
  for (auto& [entry, receipt, result] : batch) {
    if (result.outcome == WriteOutcome::done || result.outcome == WriteOutcome::already_there) {
      all_told_ = false;
      const schema::MessageKey key = receipt.key;
      posted_[inbox].insert_or_assign(key, Posted{std::move(receipt), ReadStatus::waiting});
    }
    results.push_back(told(std::move(result)));
  }
  return results;
}

std::string ArraysMailbox::encode(const schema::Message& message) const { return encode_entry(message); }

void ArraysMailbox::track(const std::string& inbox, const schema::MessageKey& key) {
  all_told_ = false;
  posted_[inbox].try_emplace(key, Posted{{key, {}, false}, ReadStatus::waiting});
}

ReadStatus ArraysMailbox::read_status(const std::string& inbox, const schema::MessageKey& key) const {
  const auto box = posted_.find(inbox);
  if (box == posted_.end()) return ReadStatus::waiting;
  const auto found = box->second.find(key);
  return found == box->second.end() ? ReadStatus::waiting : found->second.read_status;
}

void ArraysMailbox::untrack(const std::string& inbox, const schema::MessageKey& key) {
  const auto box = posted_.find(inbox);
  if (box == posted_.end()) return;
  box->second.erase(key);
  if (box->second.empty()) posted_.erase(box);
}

void ArraysMailbox::tell_fates(const std::string& inbox, const ReadResult* reading) {
  const auto found = posted_.find(inbox);
  if (found == posted_.end()) return;
  std::optional<EntryIndex> entries;
  if (reading != nullptr) entries.emplace(*reading, inboxes_.known(inbox));
  for (auto& [key, one] : found->second)
    if (one.read_status != ReadStatus::consumed)
      one.read_status = entries ? read_status_in(*entries, one.receipt) : ReadStatus::consumed;
}

WriteReceipt ArraysMailbox::recall(const std::string& inbox, std::span<const schema::MessageKey> keys) {
  ReadResult reading = inboxes_.read(inbox, ReadMode::unlocked);
  const bool is_partial = reading.outcome == ReadOutcome::empty || reading.outcome == ReadOutcome::torn;
  if (is_partial) reading = inboxes_.read(inbox, ReadMode::under_lock);  // unless a peer is writing it now
  inboxes_.see_as_changed(inbox);  // no scan has seen entries that arrived since this poll's scan
  if (reading.outcome == ReadOutcome::lock_held) return {WriteStatus::busy, reading.detail};
  if (reading.outcome == ReadOutcome::fault) return {WriteStatus::fault, reading.detail};
  if (reading.outcome != ReadOutcome::document && !is_partial) return {WriteStatus::gone, reading.detail};
  std::vector<std::size_t> unread;
  const auto& entries = reading.document.entries();
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (entries[i].read != ReadFlag::read && std::ranges::find(keys, entries[i].key) != keys.end()) unread.push_back(i);
  if (!unread.empty() && reading.outcome == ReadOutcome::document)
    if (auto marked = told(inboxes_.mark_read(inbox, reading.document, unread)); marked.put != WriteStatus::done)
      return marked;
  // Also what the owner consumed: after a power failure the next worker with this name would read it.
  return told(make_lasting(files_, inboxes_.open_team(), inbox));
}

bool ArraysMailbox::roster_changed() {
  inboxes_.close_folder();
  // Every poll of an idle team runs this, so it stats paths instead of opening each component. A file or folder with a
  // version that was reached step by step is the same one, by any path, with an unchanged mode. Anything else is left
  // to the functions that open it. While a watch reports changes of both folders, this is done once in five seconds.
  const auto now = clock_.steady();
  const bool is_watched = inboxes_.looks_in_turn();
  if (!is_watched || now - trusted_at_ >= ScanRotation::once_around) {
    const Result<FileStat> team = files_.stat_at(absolute, settings_.team_dir);
    if (!team || team->kind != FileKind::directory || !require_trusted(*team, settings_.team_dir).ok()) return true;
    trusted_at_ = now;
    is_as_read_ = false;
  }
  if (!is_watched || !is_as_read_) {
    const Result<FileStat> found = files_.stat_at(absolute, roster_path_);
    is_as_read_ = found && roster_.is_as_read(version_of(*found));
  }
  if (!is_as_read_) return true;
  inboxes_.look_by_name();
  return false;
}

Result<schema::Roster> ArraysMailbox::roster() {
  const Result<Directory> team = inboxes_.open_team();
  if (team) return roster_.read(*team);
  roster_.forget();
  if (is_errno(team.error(), ENOENT)) return Error{"roster.missing", team.error().message};
  return team.error();
}

WriteReceipt ArraysMailbox::mend_roster(const std::vector<std::string>& without) {
  is_as_read_ = false;
  const Result<Directory> team = inboxes_.open_team();
  return told(team ? roster_.mend(*team, without) : stopped_by(team.error()));
}

WriteReceipt ArraysMailbox::add_member(const std::string& name, const std::string& entry) {
  is_as_read_ = false;
  const Result<Directory> team = inboxes_.open_team();
  return told(team ? roster_.add_member(*team, name, entry) : stopped_by(team.error()));
}

WriteReceipt ArraysMailbox::remove_member(const std::string& name) {
  is_as_read_ = false;
  const Result<Directory> team = inboxes_.open_team();
  return told(team ? roster_.remove_member(*team, name) : stopped_by(team.error()));
}

TaskAssigned ArraysMailbox::assign_task(const std::string& task, const std::string& name,
                                        const std::function<bool(const std::string& owner)>& is_there) {
  if (settings_.tasks_dir.empty()) return {{WriteStatus::gone, {}}, {}};
  const Result<Directory> tasks = open_dir_below(files_, settings_.tasks_dir);
  if (tasks) return team_files_.assign_task(*tasks, task, name, is_there);
  return {told(stopped_by(tasks.error())), {}};
}

TasksReleased ArraysMailbox::release_tasks(const std::string& name, const std::string& agent_id) {
  if (settings_.tasks_dir.empty()) return {{WriteStatus::gone, {}}, {}};
  const Result<Directory> tasks = open_dir_below(files_, settings_.tasks_dir);
  if (tasks) return team_files_.release_tasks(*tasks, name, agent_id);
  return {told(stopped_by(tasks.error())), {}};
}

}  // namespace inbox_poller::poller
