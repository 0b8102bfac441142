// A folder that agents share, as the team of the actor whose mail we deliver: its letters are the lead's chat, whoever
// has a mailbox beside it is a worker, and nothing else is carried (no asks, no orders). Invariants: a letter leaves new/
// for cur/ by one rename and only after it was committed; what cannot be read stays where it is and hides no neighbour;
// what we write to an actor is there once for each key, and is written again when it vanished without a trace of having
// been taken. Source: docs/adr/0036-maildir-teams.md.
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

struct MaildirSettings {
  std::string root;  // absolute
  std::string team;
  std::string lead;                  // the actor whose mail is delivered
  std::vector<std::string> members;  // empty: whoever has a folder, or writes to the lead
  bool writes = true;                // false: an observer's, nothing is made or tidied
  std::uint32_t torn_looks = 6;      // so many looks at a file that cannot be read until it is told
  boost::asio::thread_pool* pool = nullptr;  // where many letters are read and moved
  std::chrono::milliseconds poll_interval{500};
};

class MaildirMailbox final : public Mailbox, public RosterStore {
 public:
  MaildirMailbox(FileSystem& files, const Clock& clock, MaildirSettings settings);

  Result<std::span<const News>> ready_boxes() override;
  [[nodiscard]] bool rests() const override { return rests_; }
  void rely_on_hints(bool rely) override { turns_.take(rely ? settings_.poll_interval : SteadyTime::duration()); }
  boost::asio::awaitable<Batch> receive(std::string box, Access reader, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack> disposals) override;
  void rewind(const std::string& box) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override;
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> held(const std::string& box) const override;
  boost::asio::awaitable<Trimmed> trim(std::string box, RetentionPolicy choose) override;
  [[nodiscard]] Contention contention() const override { return {}; }
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
  void remember_roster(RosterCopy) override {}
  [[nodiscard]] bool roster_is_lost() const override { return false; }
  WriteReceipt mend_roster(const std::vector<std::string>& without) override;
  WriteReceipt remove_member(const std::string& name) override;
  TasksReleased release_tasks(const std::string& name, const std::string& agent_id) override;
  TaskAssigned assign_task(const std::string& task, const std::string& name,
                           const std::function<bool(const std::string& owner)>& is_there) override;

 private:
  WriteReceipt post_one(const std::string& inbox, const schema::Message& message);
  /// A folder as it was seen, and since when it looks so. What came within one tick of the file system's clock changes
  /// nothing that could be seen: only a look some time after that has seen all.
  struct Seen {
    std::uint64_t ino = 0;
    std::int64_t mtime_ns = 0;
    SteadyTime since{};
    bool all = false;  // everything in it was shown and settled
  };
  struct Shown {
    Mail mail;
    schema::MessageKey key;
    std::optional<NewMail::Open> open;  // none: not ours to take
    bool is_bad = false;                // a file that cannot be read: it stays
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
    SteadyTime looked{};     // when the look began
    bool just_looked = false;  // for the roster, in this poll: take() need not do it again
    bool goes_on = false;    // the look has more
    bool left_out = false;   // somebody else of the actor held a letter, or a file cannot be read
    std::vector<Shown> shown;
    std::shared_ptr<Leaving> leaving;         // of the piece before
    std::deque<std::string> bytes;            // what the batch's letters lie in
    std::map<std::string, Known> known;       // by file
    std::map<std::string, EpochMs> first_ms;  // by file: when it was seen first
    std::set<std::string> settled;            // files that stay and are not to be shown again
    std::set<std::string> again;              // until the look ends
    std::map<std::string, std::uint32_t> bad_looks;  // by file that cannot be read
    std::set<std::string> bad_told;
    std::map<schema::MessageKey, SteadyTime> taken;  // by us, lately
  };
  struct Outgoing {  // what we wrote to an actor
    std::map<schema::MessageKey, ReadStatus> followed;
    std::optional<std::set<std::string>> written;  // ids that must not be written again; none: not looked for yet
    std::set<std::string> rewritten;               // vanished once without a trace
    bool deletes = false;                          // its owner leaves no trace of what it has read
  };

  struct Folder {
    std::string name;
    bool is_directory = false;  // not a link to one: nothing behind a link is read
    // As it was looked at last:
    bool has_new = false;  // there is a new/ in it
    bool is_box = false;   // it may be one, also when that cannot be told
    bool changed = true;   // not all of it was shown
  };

  Box& box(const std::string& name);
  /// Looks at the root, and at the new/ of each folder in it that must be looked at or has its turn.
  Status look_around();
  /// Reads the root's names.
  Status list(const Directory& root);
  [[nodiscard]] bool is_root_as_seen() const;
  /// True when it was as it is at the look before, and nothing in it is new.
  bool look_at(Folder& folder, const Result<FileStat>& now);
  /// Whether a look some seconds later does for it: nobody waits for its mail to be seen.
  [[nodiscard]] bool may_wait(const Folder& folder) const;
  /// Notes how the box's new/ looks now.
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
  /// Whether the team knows him already, as far as it can: who is new must be a member before his first letter is taken.
  [[nodiscard]] bool is_heard(const std::string& sender) const;

  MaildirRoot root_;
  MaildirSettings settings_;
  std::map<std::string, Box> boxes_;
  std::map<std::string, Outgoing> outgoing_;
  std::vector<News> news_;
  std::set<std::string> senders_;  // who wrote to the lead and has no folder, perhaps
  std::optional<schema::Roster> roster_;  // as it was told last; by name
  RosterCopy copy_;
  Seen root_seen_;                       // and in it, when it was seen:
  std::vector<Folder> folders_;          // but those of the queue
  std::optional<Status> around_;         // what look_around() gave, from roster_changed() to the ready_boxes() of the same poll
  ScanRotation turns_;                          // of the folders, while
  bool all_told_ = false;                // in the news was no change, and nothing was seen or asked for since that is one
  bool rests_ = false;
  bool tidied_ = false;
};

}  // namespace inbox_poller::poller
