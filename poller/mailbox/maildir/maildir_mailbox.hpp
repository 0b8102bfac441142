// A folder that agents share, as the team of one actor, the lead. The lead's letters are chat, and the other actors are
// workers. Approval requests and orders do not exist here.
// Invariants: a letter leaves new/ for cur/ by one rename, after its commit. An unreadable file stays in place and does
// not affect others. A message to an actor is written once for each key, and once more if the file vanished without a
// trace in cur/. Source: docs/adr/0035-maildir-teams.md.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "poller/mailbox/mailbox.hpp"
#include "poller/mailbox/maildir/new_mail.hpp"
#include "poller/mailbox/roster_store.hpp"
#include "poller/mailbox/scan_rotation.hpp"

namespace inbox_poller::poller {

/// The settings of one maildir team.
struct MaildirSettings {
  std::string root;  // absolute
  std::string team;
  std::string lead;                  // the actor whose mail is delivered
  std::vector<std::string> members;  // empty: all actors with a folder or a letter to the lead
  bool writes = true;                // false for an observer: nothing is made or removed
  std::uint32_t torn_looks = 6;      // failed reads of a file before it is reported
  boost::asio::thread_pool* pool = nullptr;  // reads and moves large batches
  std::chrono::milliseconds poll_interval{500};
};

/// Mailbox and roster of one maildir team. Contracts are those of the interfaces.
class MaildirMailbox final : public Mailbox, public RosterStore {
 public:
  MaildirMailbox(FileSystem& files, const Clock& clock, MaildirSettings settings);

  Result<std::span<const ReadyBox>> ready_boxes() override;
  [[nodiscard]] bool is_idle() const override { return is_idle_; }
  void use_notifications(bool rely) override { turns_.take(rely ? settings_.poll_interval : SteadyTime::duration()); }
  boost::asio::awaitable<Batch> receive(std::string box, Access reader, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack> disposals) override;
  void rewind(const std::string& box) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override;
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> referenced(const std::string& box) const override;
  boost::asio::awaitable<Expunged> expunge(std::string box, RetentionPolicy choose) override;
  [[nodiscard]] Contention contention() const override { return {}; }
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
  WriteReceipt remove_member(const std::string& name) override;

 private:
  WriteReceipt post_one(const std::string& inbox, const schema::Message& message);
  /// The version of a folder, and the time since when it is unchanged. Entries that come within one tick of the file
  /// system's clock do not change the version, so only a scan at least one tick later is complete.
  struct Seen {
    std::uint64_t ino = 0;
    std::int64_t mtime_ns = 0;
    SteadyTime since{};
    bool all = false;  // all entries were shown and acknowledged
  };
  struct Shown {
    Mail mail;
    schema::MessageKey key;
    std::optional<NewMail::Open> open;  // empty: must not be taken
    bool is_bad = false;                // an unreadable file, which stays
  };
  struct Known {  // an unread letter that was shown
    schema::MessageKey key;
    SteadyTime since;
  };
  struct Box {
    Box(const MaildirRoot& root, const std::string& name, std::size_t keep, boost::asio::thread_pool* pool)
        : mail(root, name, keep, pool) {}
    NewMail mail;
    Access reader = Access::peek;
    Seen seen;
    SteadyTime looked{};     // begin of the last scan
    bool just_looked = false;  // scanned in this poll for the roster; receive() need not repeat it
    bool goes_on = false;    // the scan has more letters
    bool left_out = false;   // letters were held by another process, delayed or unreadable
    std::vector<Shown> shown;
    std::shared_ptr<Leaving> leaving;         // batch of the previous piece
    std::deque<std::string> bytes;            // owns the memory of the batch's letters
    std::map<std::string, Known> known;       // by file
    std::map<std::string, EpochMs> first_ms;  // by file: first seen (wall clock)
    std::set<std::string> settled;            // files that stay and need not be shown again
    std::set<std::string> again;              // requeued files, not shown again before the scan ends
    std::map<std::string, std::uint32_t> bad_looks;  // failed reads, by file
    std::set<std::string> bad_told;
    std::map<schema::MessageKey, SteadyTime> taken;  // recently taken by this process
  };
  struct Outgoing {  // messages that the daemon wrote to an actor
    std::map<schema::MessageKey, ReadStatus> tracked;
    std::optional<std::set<std::string>> written;  // ids not to write again; empty: not determined yet
    std::set<std::string> rewritten;               // vanished once without a trace
    bool deletes = false;                          // the owner deletes letters that it has read
  };

  struct Folder {
    std::string name;
    bool is_directory = false;  // false for a link to a directory; links are not followed
    // State at the last check:
    bool has_new = false;  // the folder has a new/
    bool is_box = false;   // may be a mailbox; true also if a stat failed
    bool changed = true;   // letters were not shown yet
  };

  Box& box(const std::string& name);
  /// Checks the root, and the new/ of each folder that must be checked or has its turn.
  Status look_around();
  /// Reads the names of the root into `folders_`.
  Status list(const Directory& root);
  [[nodiscard]] bool is_root_as_seen() const;
  /// Returns true if the folder is unchanged since the previous check and has no news.
  bool look_at(Folder& folder, const Result<FileStat>& now);
  /// Returns true if a check some seconds later suffices, because no message to this actor waits to be read.
  [[nodiscard]] bool may_wait(const Folder& folder) const;
  /// Records the version of the box's new/; returns true if all of it was shown.
  [[nodiscard]] bool has_all_of(Box& box, const FileStat& now) const;
  [[nodiscard]] Result<bool> see(const std::string& name, Box& box);
  Status look(Box& box);
  void begin_look(Box& box, Batch& batch);
  void show(const std::string& name, Box& box, const Mail& mail, Batch& batch);
  void show_bad(const std::string& name, Box& box, std::size_t most, Batch& batch);
  bool consume(Box& box, Shown& one, Leaving* leaving, Settled& result);
  boost::asio::awaitable<void> see_off(Box& box, Settled& result);
  void look_after(const std::string& name, const Box& box);
  [[nodiscard]] std::set<std::string> ids_in(const std::string& actor, std::initializer_list<const char*> folders) const;
  [[nodiscard]] schema::Roster read_roster();
  /// Returns false for a sender that the next roster adds; its first letter is taken only after that.
  [[nodiscard]] bool is_heard(const std::string& sender) const;

  MaildirRoot root_;
  MaildirSettings settings_;
  std::map<std::string, Box> boxes_;
  std::map<std::string, Outgoing> outgoing_;
  std::vector<ReadyBox> ready_;
  std::set<std::string> senders_;  // actors with a letter to the lead, perhaps without a folder
  std::optional<schema::Roster> roster_;  // as last returned; by name
  RosterCopy copy_;
  Seen root_seen_;                       // version of the root; the next members belong to it
  std::vector<Folder> folders_;          // without tmp/ and tasks/
  std::optional<Status> around_;         // result of look_around(), kept from roster_changed() to ready_boxes()
  ScanRotation turns_;                          // rotation of the folders while a watch reports changes
  bool all_told_ = false;                // the last news had no change, and no call since can have caused one
  bool is_idle_ = false;
  bool tidied_ = false;
};

}  // namespace inbox_poller::poller
