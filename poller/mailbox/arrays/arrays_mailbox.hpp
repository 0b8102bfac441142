// The mailbox of a team in the format of agent clients: array inboxes, `<team>/config.json`, the roster, and a task
// list.
// Invariants: a file is only changed under its lock. Nothing is parsed, logged or synced under the lock, because an
// old client that meets a held lock loses its message. The one exception is an append that lost several races. A file
// that does not parse is never written. No link is followed, only regular files are opened, and a folder that others
// may write to is refused. Peers create, delete and replace the team's folders at any time. The folders are therefore
// opened again for every call, or once for the scans of a poll.
// Source: docs/reference/wire.md W1, W6, W7, W9 to W14.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <map>
#include <string>

#include "config/config.hpp"
#include "poller/mailbox/arrays/array_inboxes.hpp"
#include "poller/mailbox/arrays/other_consumers.hpp"
#include "poller/mailbox/arrays/roster_file.hpp"
#include "poller/mailbox/arrays/team_files.hpp"
#include "poller/mailbox/roster_store.hpp"

namespace inbox_poller::poller {

struct ArraysSettings {
  std::string team_dir;   // absolute, need not exist yet; its last component must not be a link
  std::string team;
  std::string tasks_dir;  // the team's task list, like `team_dir`; empty when there is none
  std::uint64_t size_limit = 0;  // bytes; no larger file is read
  std::chrono::milliseconds poll_interval{500};
  boost::asio::thread_pool* pool = nullptr;  // reads and rewrites large files; null: the caller's thread does
};

/// Takes the settings from a configuration, without a pool.
ArraysSettings settings_of(const config::TeamConfig& config, const std::string& team);

class ArraysMailbox final : public Mailbox, public RosterStore, public TaskBoard {
 public:
  ArraysMailbox(FileSystem& files, const Clock& clock, ArraysSettings settings);

  /// Returns the inbox files, for a person's commands.
  ArrayInboxes& inboxes() { return inboxes_; }

  Result<std::span<const ReadyBox>> ready_boxes() override;
  [[nodiscard]] bool is_idle() const override { return is_idle_; }
  void use_notifications(bool rely) override {
    inboxes_.rotate_scans(rely ? settings_.poll_interval : SteadyTime::duration());
  }
  boost::asio::awaitable<Batch> receive(std::string inbox, Access reader, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string inbox, std::vector<Ack> disposals) override;
  void rewind(const std::string& inbox) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override;
  [[nodiscard]] std::string encode(const schema::Message& message) const override;
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> referenced(const std::string& inbox) const override;
  boost::asio::awaitable<Expunged> expunge(std::string inbox, RetentionPolicy choose) override;
  [[nodiscard]] Contention contention() const override { return inboxes_.contention(); }
  [[nodiscard]] std::string location(const std::string& inbox) const override { return inboxes_.path_of(inbox); }

  using Mailbox::post;
  std::vector<WriteReceipt> post(const std::string& inbox, std::span<const schema::Message> messages) override;
  void track(const std::string& inbox, const schema::MessageKey& key) override;
  [[nodiscard]] ReadStatus read_status(const std::string& inbox, const schema::MessageKey& key) const override;
  void untrack(const std::string& inbox, const schema::MessageKey& key) override;
  WriteReceipt recall(const std::string& inbox, std::span<const schema::MessageKey> keys) override;

  bool roster_changed() override;
  Result<schema::Roster> roster() override;
  [[nodiscard]] const RosterCopy& roster_copy() const override { return roster_.copy(); }
  void remember_roster(RosterCopy copy) override { roster_.remember(std::move(copy)); }
  WriteReceipt mend_roster(const std::vector<std::string>& without) override;
  WriteReceipt remove_member(const std::string& name) override;
  WriteReceipt add_member(const std::string& name, const std::string& entry) override;
  TasksReleased release_tasks(const std::string& name, const std::string& agent_id) override;
  TaskAssigned assign_task(const std::string& task, const std::string& name,
                           const std::function<bool(const std::string& owner)>& is_there) override;

 private:
  struct Posted {
    AppendReceipt receipt;
    ReadStatus read_status = ReadStatus::waiting;
  };
  using PostedKeys = std::map<schema::MessageKey, Posted>;

  /// A reading in progress, shown window by window and piece by piece.
  struct Scan {
    ReadResult reading;
    std::size_t window = 0;
    std::size_t next = 0;              // the first entry that was not examined
    std::vector<std::size_t> shown;    // indexes of the last piece that receive() returned
    std::vector<std::size_t> to_mark;  // indexes in this window
    std::vector<std::size_t> to_replace;  // indexes in all windows so far, to be marked by replacing the file
    bool replaces_all = false;            // replace the file for all flags, also those that can be set in place
    bool is_rewound = false;                 // no entry counts as shown before
    bool is_settled = true;            // the last piece was acknowledged
    bool is_over = false;              // the next piece belongs to another reading
    std::size_t at_hand = 0;           // the window whose bytes are loaded
    bool leaves_some = false;          // an entry did not fit, or could not be marked
  };
  struct Box {
    std::optional<Access> reader;
    KeySet settled;  // entries that the known head does not cover
    KeySet owed;     // to be marked. Exclusive: entries outside of the known head; shared: all entries
    std::optional<Scan> scan;
    OtherConsumers others;
    std::map<std::string, SteadyTime> marked;  // shared access: recent marks of ours, by key
    bool rewound = false;     // until a reading has shown all entries again
    bool unfinished = false;  // an entry was not shown, did not fit or could not be marked
    std::optional<SteadyTime> replaced;  // last attempt to set flags by replacing the file
    bool is_in_the_way = false;          // the last replacement failed; set flags in place where possible
    std::size_t damage = 0;              // hash of the bytes that do not parse
    std::uint32_t damaged_looks = 0;
  };

  /// Drops all state of an inbox, as if it had never been read.
  void forget(const std::string& inbox);
  boost::asio::awaitable<ReadResult> read_once(std::string inbox, std::uint64_t size, ReadMode mode);
  boost::asio::awaitable<ReadResult> read_patiently(std::string inbox, Access reader);
  /// Updates the state of the tracked messages. A null `reading` means that the inbox is gone with its messages.
  void tell_fates(const std::string& inbox, const ReadResult* reading);
  void note_damage(Box& box, const ReadResult& reading, Batch& batch) const;
  /// Adds evidence of other consumers since the last reading.
  void look_for_others(Box& box, const ReadResult& reading, Batch& batch);
  void overtaken(Box& box, const InboxDocument& document, const OtherConsumers::Observation& sighting, Batch& batch);
  /// Adds the next piece of the reading to the batch.
  void show_some(Box& box, std::size_t most, Batch& batch);
  [[nodiscard]] static bool was_shown(const Box& box, const InboxEntry& entry);
  [[nodiscard]] static bool is_owed(const Box& box, const InboxEntry& entry);
  /// Ends a reading that was shown completely. The mailbox knows the first `known` entries of the document.
  static void finish(Box& box, std::size_t known);
  /// True if many flags may be set by the replacement of the file that a few of them need anyway.
  [[nodiscard]] bool may_replace(const Box& box) const;
  /// Marks entries of the acknowledged window in place, and notes the others for the end of the reading.
  boost::asio::awaitable<WriteResult> mark(std::string inbox, Box& box);
  /// Marks the noted entries of all windows with one replacement of the file.
  boost::asio::awaitable<WriteResult> mark_by_replacement(std::string inbox, Box& box);
  /// Records that we marked the message, not another consumer.
  void note_mark(Box& box, const schema::MessageKey& key) const;
  boost::asio::awaitable<WriteResult> mark_some(const std::string& inbox, const InboxDocument& document,
                                                std::span<const std::size_t> indexes);
  enum class Round { done, nothing_to_gain, try_again, gave_up };
  boost::asio::awaitable<Round> trim_once(const std::string& inbox, const RetentionPolicy& choose, Expunged& trimmed);
  Round trimmed(const std::string& inbox, const InboxDocument& document, const std::vector<std::size_t>& leaving,
                WriteResult result, Expunged& told);

  FileSystem& files_;
  const Clock& clock_;
  ArraysSettings settings_;
  std::string roster_path_;
  ArrayInboxes inboxes_;
  RosterFile roster_;
  TeamFiles team_files_;
  std::map<std::string, PostedKeys> posted_;  // by inbox; tracked messages
  std::map<std::string, Box> boxes_;          // by inbox
  std::map<std::string, std::vector<std::pair<SteadyTime, Fingerprint>>> trimmed_;  // by inbox; the last hours
  std::vector<ReadyBox> ready_;
  SteadyTime trusted_at_{};  // steady clock; last check of the rights on the team's folder
  bool is_as_read_ = false;  // the last check of the roster found the version that was read
  bool is_idle_ = false;
  bool all_told_ = false;  // the last ready_boxes() found no change, and no call since then can have caused one
};

}  // namespace inbox_poller::poller
