// The mailbox of a team whose programs keep one JSON object a line: `.team/inbox/<name>.jsonl` with `.team/config.json`,
// or `.mailboxes/<name>.jsonl` without a roster; tasks in `.tasks/` beside it. There is no lock between processes.
// Invariants: nothing of ours in the inboxes' folder ends in `.jsonl`; no link is followed, and a folder that others may
// write to is refused; the roster is never written, because the program keeps it in memory and writes it over.
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

struct JsonlSettings {
  std::string folder;                // `.team` or `.mailboxes`, absolute
  std::string tasks;                 // absolute; empty: `.tasks` beside the folder
  std::string team;                  // its name in the ledger
  std::string lead{"lead"};
  std::vector<std::string> members;  // of a team that keeps no roster
  std::string records;               // absolute; a file of ours
  std::uint64_t size_limit = 0;      // bytes
  bool anybody = false;              // the members are those who have an inbox, or write to the lead
  std::chrono::milliseconds poll_interval{500};
};

class JsonlMailbox final : public Mailbox, public RosterStore {
 public:
  JsonlMailbox(FileSystem& files, const Clock& clock, JsonlSettings settings,
               std::unique_ptr<FileWatch> watch = make_file_watch());

  Result<std::span<const News>> ready_boxes() override;
  [[nodiscard]] bool rests() const override { return rests_; }
  void rely_on_hints(bool rely) override { turns_.take(rely ? settings_.poll_interval : SteadyTime::duration()); }
  boost::asio::awaitable<Batch> receive(std::string box, Access reader, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack> disposals) override;
  void rewind(const std::string& box) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override;
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> held(const std::string& box) const override;
  boost::asio::awaitable<Trimmed> trim(std::string box, RetentionPolicy choose) override;
  [[nodiscard]] Contention contention() const override { return contention_; }
  [[nodiscard]] std::string place_of(const std::string& box) const override;

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
  [[nodiscard]] bool roster_is_lost() const override { return false; }
  WriteReceipt mend_roster(const std::vector<std::string>& without) override;
  WriteReceipt remove_member(const std::string& name) override;
  TasksReleased release_tasks(const std::string& name, const std::string& agent_id) override;
  TaskAssigned assign_task(const std::string& task, const std::string& name,
                           const std::function<bool(const std::string& owner)>& is_there) override;

  [[nodiscard]] JsonlGeneration generation() const { return generation_; }

 private:
  Result<Directory> open_team() { return open_dir_below(files_, settings_.folder); }
  /// Where the inboxes are; told anew which generation it is.
  Result<Directory> open_boxes();
  [[nodiscard]] std::string boxes_path() const { return settings_.folder + (in_folder_ ? "/inbox" : ""); }
  /// Whether that is, by its name and with nothing to open, the folder that was listed, as it was.
  [[nodiscard]] bool is_as_listed();
  /// The names of the boxes, from there.
  Status list(const Directory& folder);
  [[nodiscard]] std::string tasks_folder() const;
  LineBox& box(const std::string& name);
  [[nodiscard]] LinePost::KeyOf key_in(const std::string& inbox) const;
  /// The record of a request, before whoever it is for may look it up.
  Status keep_request(const schema::Message& message, const std::string& to);
  /// Of a team without a roster of which everybody is: who is there now.
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
  std::vector<News> news_;  // of all that are listed, and of those in which lines of ours are followed
  std::optional<FileVersion> listed_;  // the folder, as it was when nothing in it was followed; later it looks otherwise
  SteadyTime opened_{};                // step by step
  ScanRotation turns_;                        // of the boxes, while
  bool all_told_ = false;              // in the news was no change, and nothing was asked for since that might make one
  bool rests_ = false;
  JsonlGeneration generation_ = JsonlGeneration::g1;
  bool in_folder_ = false;  // the inboxes lie in `inbox/`, and not in the folder itself
  RosterCopy copy_;
  schema::Roster roster_;
  std::optional<FileStat> roster_read_;  // what roster() returned, when it was read whole
  std::set<std::string> senders_;        // who wrote to the lead
  std::optional<FileVersion> heard_;     // the lead's inbox, as it was when they were read from it
  std::vector<std::string> there_;       // as roster() returned them
  std::string record_problem_;           // told with the first look
};

}  // namespace inbox_poller::poller
