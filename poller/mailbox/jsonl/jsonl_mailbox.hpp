// The mailbox of a team whose programs keep one JSON object a line: `.team/inbox/<name>.jsonl` and `.team/config.json`,
// or `.mailboxes/<name>.jsonl` without a roster. Tasks are in `.tasks/` next to it. No lock is common to all programs.
// Invariants: the daemon's own files in the inbox folder do not end in `.jsonl`. No link is followed, and a folder that
// others may write to is refused. The roster is never written, because its program overwrites it from memory.
// Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "poller/mailbox/file_version.hpp"
#include "poller/mailbox/jsonl/line.hpp"
#include "poller/mailbox/jsonl/line_box.hpp"
#include "poller/mailbox/jsonl/line_post.hpp"
#include "poller/mailbox/roster_store.hpp"
#include "poller/mailbox/scan_rotation.hpp"

namespace inbox_poller::poller {

/// The settings of one JSONL team; paths are absolute.
struct JsonlSettings {
  std::string folder;                // path of `.team` or `.mailboxes`
  std::string tasks;                 // empty: `.tasks` next to the folder
  std::string team;                  // the team's name in the ledger
  std::string lead{"lead"};
  std::vector<std::string> members;  // for a team without a roster file
  std::string records;               // the file of BoxRecords
  std::uint64_t size_limit = 0;      // bytes
  bool anybody = false;              // members: all actors with an inbox or a message to the lead
  std::chrono::milliseconds poll_interval{500};
};

/// Mailbox and roster of one JSONL team. Contracts are those of the interfaces.
class JsonlMailbox final : public Mailbox, public RosterStore, public TaskBoard {
 public:
  /// Loads the records; an error is reported by the first receive(). `files` and `clock` must outlive this object.
  JsonlMailbox(FileSystem& files, const Clock& clock, JsonlSettings settings,
               std::unique_ptr<FileWatch> watch = make_file_watch());

  Result<std::span<const ReadyBox>> ready_boxes() override;
  [[nodiscard]] bool is_idle() const override { return is_idle_; }
  void use_notifications(bool rely) override { turns_.take(rely ? settings_.poll_interval : SteadyTime::duration()); }
  boost::asio::awaitable<Batch> receive(std::string box, Access reader, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack> disposals) override;
  void rewind(const std::string& box) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override;
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> referenced(const std::string& box) const override;
  boost::asio::awaitable<Expunged> expunge(std::string box, RetentionPolicy choose) override;
  [[nodiscard]] Contention contention() const override { return contention_; }
  [[nodiscard]] std::string location(const std::string& box) const override;

  using Mailbox::post;
  std::vector<WriteReceipt> post(const std::string& inbox, std::span<const schema::Message> messages) override;
  void track(const std::string& inbox, const schema::MessageKey& key) override;
  [[nodiscard]] ReadStatus read_status(const std::string& inbox, const schema::MessageKey& key) const override;
  void untrack(const std::string& inbox, const schema::MessageKey& key) override;
  WriteReceipt recall(const std::string& inbox, std::span<const schema::MessageKey> keys) override;

  bool roster_changed() override;
  Result<schema::Roster> roster() override;
  [[nodiscard]] const RosterCopy& roster_copy() const override { return copy_; }
  void remember_roster(RosterCopy copy) override { copy_ = std::move(copy); }
  WriteReceipt remove_member(const std::string& name) override;
  TasksReleased release_tasks(const std::string& name, const std::string& agent_id) override;
  TaskAssigned assign_task(const std::string& task, const std::string& name,
                           const std::function<bool(const std::string& owner)>& is_there) override;

  /// Returns the generation that the last access to the inbox folder found.
  [[nodiscard]] JsonlGeneration generation() const { return generation_; }

 private:
  Result<Directory> open_team() { return open_dir_below(files_, settings_.folder); }
  /// Opens the folder of the inboxes and determines the generation again.
  Result<Directory> open_boxes();
  [[nodiscard]] std::string boxes_path() const { return settings_.folder + (in_folder_ ? "/inbox" : ""); }
  /// Returns true if the inbox folder is unchanged since it was listed; costs one stat and opens nothing.
  [[nodiscard]] bool is_as_listed();
  /// Reads the names of the inboxes into `ready_`.
  Status list(const Directory& folder);
  [[nodiscard]] std::string tasks_folder() const;
  LineBox& box(const std::string& name);
  [[nodiscard]] LinePost::KeyOf key_in(const std::string& inbox) const;
  /// Writes the record of a request (g2), before the receiver can look it up.
  Status keep_request(const schema::Message& message, const std::string& to);
  /// Returns the current members of a team with the setting `anybody`.
  [[nodiscard]] std::vector<std::string> anybody();
  [[nodiscard]] bool is_as_heard();
  void hear_senders(const Directory& folder);
  WriteReceipt release_task(const Directory& tasks, const std::string& file, const std::string& name,
                         std::vector<schema::Task>& released);
  WriteReceipt replace_task(const Directory& tasks, const File& read, const std::string& file, const std::string& wanted);

  FileSystem& files_;
  const Clock& clock_;
  JsonlSettings settings_;
  Contention contention_;
  BoxRecords records_;
  LineBox::Team team_;
  LinePost posts_;
  std::map<std::string, LineBox> boxes_;
  std::vector<ReadyBox> ready_;  // all listed inboxes, and those with tracked lines
  std::optional<FileVersion> listed_;  // the inbox folder as listed; set only while no line was tracked
  SteadyTime opened_{};                // last time that the folder was opened component by component
  ScanRotation turns_;                        // rotation of the inboxes while a watch reports changes
  bool all_told_ = false;              // the last news had no change, and no call since can have caused one
  bool is_idle_ = false;
  JsonlGeneration generation_ = JsonlGeneration::g1;
  bool in_folder_ = false;  // the inboxes are in `inbox/`, not in the folder itself
  RosterCopy copy_;
  schema::Roster roster_;
  std::optional<FileVersion> roster_read_;  // of the last complete read
  struct Torn {
    FileVersion version;
    SteadyTime since;
  } torn_;                               // the roster at the last read that was not complete
  std::set<std::string> senders_;        // actors with a message to the lead
  std::optional<FileVersion> heard_;     // the lead's inbox when `senders_` was read
  std::vector<std::string> there_;       // members as roster() returned them
  std::string record_problem_;           // reported by the first receive()
};

}  // namespace inbox_poller::poller
