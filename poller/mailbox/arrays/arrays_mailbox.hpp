// The mailbox of a team as agent clients keep it: array inboxes, `<team>/config.json`, the roster, and a task list.
// Invariants: a file is only ever changed under its lock; under it nothing is parsed, logged or synced (an old client
// that meets a held lock loses its message; the one exception is an append that lost several races). A file that we
// could not parse is never written. No link is followed, nothing but regular files is opened, and a folder that others
// may write to is refused. The team's folders are opened anew for every call, or once for the looks of a poll: they
// appear, vanish and are replaced at any time. Source: docs/reference/wire.md W1, W6, W7, W9 to W14.
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
  std::string team_dir;   // absolute; its last component must not be a link. It need not exist (yet)
  std::string team;
  std::string tasks_dir;  // the team's task list, likewise; empty when there is none
  std::uint64_t size_limit = 0;  // bytes; no larger file is read
  std::chrono::milliseconds poll_interval{500};
  boost::asio::thread_pool* pool = nullptr;  // for big files; null: they are read like others
};

/// As a configuration has it, without a pool.
ArraysSettings settings_of(const config::TeamConfig& config, const std::string& team);

class ArraysMailbox final : public Mailbox, public RosterStore {
 public:
  ArraysMailbox(FileSystem& files, const Clock& clock, ArraysSettings settings);

  /// The files themselves, for a person's commands.
  ArrayInboxes& inboxes() { return inboxes_; }

  Result<std::span<const News>> ready_boxes() override;
  [[nodiscard]] bool rests() const override { return rests_; }
  void rely_on_hints(bool rely) override { inboxes_.look_in_turn(rely ? settings_.poll_interval : SteadyTime::duration()); }
  boost::asio::awaitable<Batch> receive(std::string inbox, Access reader, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string inbox, std::vector<Ack> disposals) override;
  void rewind(const std::string& inbox) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override;
  [[nodiscard]] std::string encode(const schema::Message& message) const override;
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> held(const std::string& inbox) const override;
  boost::asio::awaitable<Trimmed> trim(std::string inbox, RetentionPolicy choose) override;
  [[nodiscard]] Contention contention() const override { return inboxes_.contention(); }
  [[nodiscard]] std::string place_of(const std::string& inbox) const override { return inboxes_.path_of(inbox); }

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
  [[nodiscard]] bool roster_is_lost() const override { return roster_.is_lost(); }
  WriteReceipt mend_roster(const std::vector<std::string>& without) override;
  WriteReceipt remove_member(const std::string& name) override;
  WriteReceipt add_member(const std::string& name, const std::string& entry) override;
  TasksReleased release_tasks(const std::string& name, const std::string& agent_id) override;
  TaskAssigned assign_task(const std::string& task, const std::string& name,
                           const std::function<bool(const std::string& owner)>& is_there) override;

 private:
  struct Posted {
    AppendReceipt receipt;
    ReadStatus fate = ReadStatus::waiting;
  };
  using PostedKeys = std::map<schema::MessageKey, Posted>;

  /// A reading that is being shown, window by window, piece by piece.
  struct Look {
    ReadResult reading;
    std::size_t window = 0;
    std::size_t next = 0;              // the first entry that has not been looked at
    std::vector<std::size_t> shown;    // of the piece that take() gave last
    std::vector<std::size_t> to_mark;  // of the window
    std::vector<std::size_t> to_replace;  // of all windows so far: what is marked by replacing the file
    bool replaces_all = false;            // it is replaced for all flags, not only for those that cannot be set in place
    bool anew = false;                 // nothing counts as shown before
    bool is_settled = true;            // the piece is
    bool is_over = false;              // the next one is of another look
    std::size_t at_hand = 0;           // the window whose bytes the document has
    bool leaves_some = false;          // something did not fit, or could not be marked
  };
  struct Box {
    std::optional<Access> reader;
    KeySet settled;  // of what the known head does not cover
    KeySet owed;     // to be marked: of an owner what the head does not cover, beside another all that is there
    std::optional<Look> look;
    OtherConsumers others;
    std::map<std::string, SteadyTime> marked;  // beside another: what we marked of late, by key
    bool rewound = false;     // until a look has shown everything again
    bool unfinished = false;  // something was not shown, did not fit or could not be marked
    std::optional<SteadyTime> replaced;  // when flags were last set by replacing the file, or were to be
    bool is_in_the_way = false;          // something was when it was to be replaced: set in place what can be
    std::size_t damage = 0;              // a hash of what does not parse
    std::uint32_t damaged_looks = 0;
  };

  /// Nobody has ever looked into it.
  void forget(const std::string& inbox);
  boost::asio::awaitable<ReadResult> read_once(std::string inbox, std::uint64_t size, ReadMode mode);
  boost::asio::awaitable<ReadResult> read_patiently(std::string inbox, Access reader);
  /// Null when the inbox is gone, and what was in it with it.
  void tell_fates(const std::string& inbox, const ReadResult* reading);
  void note_damage(Box& box, const ReadResult& reading, Batch& batch) const;
  /// What others did with the inbox since the last reading.
  void look_for_others(Box& box, const ReadResult& reading, Batch& batch);
  void overtaken(Box& box, const InboxDocument& document, const OtherConsumers::Observation& sighting, Batch& batch);
  /// The next piece.
  void show_some(Box& box, std::size_t most, Batch& batch);
  [[nodiscard]] static bool was_shown(const Box& box, const InboxEntry& entry);
  [[nodiscard]] static bool is_owed(const Box& box, const InboxEntry& entry);
  /// The whole inbox was shown; the mailbox knows the first so many entries of the document.
  static void finish(Box& box, std::size_t known);
  /// Whether many flags may be set by replacing the file, which a few of them want anyway.
  [[nodiscard]] bool may_replace(const Box& box) const;
  /// Of the window that was settled, what is marked in place; the rest is noted for the end of the look.
  boost::asio::awaitable<WriteResult> mark(std::string inbox, Box& box);
  /// The rest, of all windows: the file is replaced once.
  boost::asio::awaitable<WriteResult> mark_by_replacement(std::string inbox, Box& box);
  /// We have marked it, not another one.
  void note_mark(Box& box, const schema::MessageKey& key) const;
  boost::asio::awaitable<WriteResult> mark_some(const std::string& inbox, const InboxDocument& document,
                                                std::span<const std::size_t> indexes);
  enum class Round { done, nothing_to_gain, try_again, gave_up };
  boost::asio::awaitable<Round> trim_once(const std::string& inbox, const RetentionPolicy& choose, Trimmed& trimmed);
  Round trimmed(const std::string& inbox, const InboxDocument& document, const std::vector<std::size_t>& leaving,
                WriteResult result, Trimmed& told);

  FileSystem& files_;
  const Clock& clock_;
  ArraysSettings settings_;
  std::string roster_path_;
  ArrayInboxes inboxes_;
  RosterFile roster_;
  TeamFiles team_files_;
  std::map<std::string, PostedKeys> posted_;  // by inbox; what is followed
  std::map<std::string, Box> boxes_;          // by inbox
  std::map<std::string, std::vector<std::pair<SteadyTime, Fingerprint>>> trimmed_;  // by inbox; of the last hours
  std::vector<News> news_;
  SteadyTime trusted_at_{};  // the team's folder was one that nobody else may write to
  bool rests_ = false;
  bool all_told_ = false;  // in the news there was no change, and nothing was asked for since that might make one
};

}  // namespace inbox_poller::poller
