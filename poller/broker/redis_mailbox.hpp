// Mailbox of a team with mail and tasks in Redis, as seen by the lead actor. maildir_mailbox.hpp does the same with
// files. The decision thread never waits for the network. Each poll starts with one scan of all inboxes (sync).
// Entries are fetched by awaitables. The team's own thread does the writes, and a later call returns their results.
// A slow or unreachable Redis therefore delays this team only.
// Invariants: an entry is acknowledged only after its commit. An entry that was returned but not acknowledged is
// returned again, also to the next process of this reader. A message that we write exists once per key, and is written
// again if Redis lost it. An actor stays a member once seen, even if Redis is emptied. One daemon at a time reads an
// actor's mail: the first one, until it has not scanned for `served_for`.
// Source: docs/adr/0046-redis-teams.md.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "poller/clock.hpp"
#include "poller/every.hpp"
#include "poller/broker/redis_box.hpp"
#include "poller/broker/redis_caller.hpp"
#include "poller/broker/redis_keys.hpp"
#include "poller/broker/redis_tasks.hpp"
#include "poller/mailbox/task_events.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/mailbox/roster_store.hpp"

namespace inbox_poller::poller {

/// Settings of one Redis team.
struct RedisTeamSettings {
  config::RedisAddress address;     // with the team's name in Redis
  std::string team;                  // team name in the ledger
  std::string lead;                  // the lead actor; its mail is delivered
  std::vector<std::string> members;  // empty: every actor that has an inbox or writes to the lead
  bool writes = true;                // false: observer
  std::string reader;                // consumer name; unique per daemon and stable over restarts
  std::chrono::milliseconds served_for{15'000};  // validity of the claim of one scan; polls are more frequent
  TaskSettings tasks;
};

/// Mailbox, roster and tasks of one Redis team. Decision thread only; `clock` must outlive this object.
/// The destructor waits for the call under way.
class RedisMailbox final : public Mailbox, public RosterStore, public TaskEvents {
 public:
  RedisMailbox(const Clock& clock, RedisTeamSettings settings);
  ~RedisMailbox() override;

  boost::asio::awaitable<void> sync() override;
  void subscribe(std::function<void()> ring) override { ring_ = std::move(ring); }
  Result<std::span<const ReadyBox>> ready_boxes() override;
  boost::asio::awaitable<Batch> receive(std::string box, Access reader, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack> disposals) override;
  void rewind(const std::string& box) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override;
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> referenced(const std::string& box) const override;
  boost::asio::awaitable<Expunged> expunge(std::string box, RetentionPolicy choose) override;
  [[nodiscard]] Contention contention() const override { return {}; }
  [[nodiscard]] std::string location(const std::string& box) const override;

  /// Returns `busy` for each message until Redis has replied; a later call with the same messages returns the result.
  using Mailbox::post;
  std::vector<WriteReceipt> post(const std::string& inbox, std::span<const schema::Message> messages) override;
  void track(const std::string& inbox, const schema::MessageKey& key) override;
  [[nodiscard]] ReadStatus read_status(const std::string& inbox, const schema::MessageKey& key) const override;
  void untrack(const std::string& inbox, const schema::MessageKey& key) override;
  WriteReceipt recall(const std::string& inbox, std::span<const schema::MessageKey> keys) override;

  bool roster_changed() override;
  Result<schema::Roster> roster() override;
  [[nodiscard]] const RosterCopy& roster_copy() const override { return copy_; }
  void remember_roster(RosterCopy copy) override;
  WriteReceipt remove_member(const std::string& name) override;

  /// Task counts of the last scan, at most some seconds old. Errors: "redis.*".
  [[nodiscard]] Result<TaskCounts> counts() const override;
  /// Returns the leases that the previous scan found expired, and schedules the next scan. Errors: "redis.*".
  Result<TaskSweep> sweep() override;
  Result<std::vector<TaskFile>> finished(long long since_ns) override;

 private:
  /// State of one inbox as one scan saw it.
  struct State {
    std::string delivered;  // last entry that a reader received; empty: none
    long long pending = 0;  // received and not acknowledged
    long long rest = 0;     // not received by any reader; negative: some, count unknown
    std::string more;       // other data that changes with the inbox
    std::string wrong;      // reason why the key is not an inbox
    bool operator==(const State&) const = default;
  };
  struct Entry {
    std::string id, bytes, from;
    schema::MessageKey key;
    bool skipped = false;  // not to be returned: skipped before, or of a new actor
  };
  struct Known {  // unread entry that was returned
    schema::MessageKey key;
    SteadyTime since;
    EpochMs first_ms;
  };
  struct Box {
    Access reader = Access::peek;
    State looked;                           // when the pass under way began
    std::optional<State> seen;              // when the last complete pass began; empty: no pass yet
    std::string floor;                      // every entry up to this one is settled
    bool floor_rises = true;                // in this pass
    std::string cursor;                     // last entry of the previous batch
    bool goes_on = false;                   // the pass is not complete
    bool left_out = false;                  // an entry was not returned, such as one leased elsewhere
    std::vector<Entry> piece;
    std::map<std::string, Known> known;     // by entry id
    std::set<std::string> left;             // entries acknowledged as `skip`, still unread
    std::map<schema::MessageKey, SteadyTime> taken;  // acknowledged by us within the last hour
  };
  struct Wanted {
    bool tasks = false, sweep = false;
    long long finished_since_ms = -1;
  };
  struct Scan {
    std::optional<Error> failed;
    std::vector<std::pair<std::string, State>> boxes;
    std::vector<std::string> worries;
    std::optional<TaskCounts> counts;
    TaskSweep swept;
    std::vector<TaskFile> finished;
  };
  struct PieceWanted {
    std::string box, from;
    bool owns = false, pending = false;
    std::size_t most = 0;
    std::vector<schema::MessageKey> tracked;
  };
  struct Piece {
    std::optional<Error> failed;
    bool more = false;
    std::string left_out;            // first entry that is leased to another consumer
    std::vector<Entry> entries;
    std::set<std::string> pending;   // all pending entries, if wanted
    std::vector<ReadStatus> read_statuses;         // read status of `tracked`, in order
  };

  // On the team's own thread. Uses only constant members, those under the mutex, and those marked as this thread's.
  Scan scan(const Wanted&);
  void scan_tasks(const Wanted&, Scan&);
  Piece read(const PieceWanted&);
  Entry entry_of(const std::string& box, const RedisReply&) const;
  std::optional<Error> ack_entries(const std::string& box, const std::vector<std::string>& consumed,
                        const std::vector<std::string>& freed);
  void carry();
  /// Maps an error to a WriteStatus: `blocked` if a person must act, otherwise `fault`.
  static WriteReceipt why_not(const Error& error);

  void adopt(Scan);
  /// Adds `name` to the known actors. False if it is known already or the limit of 500 is reached.
  bool meet(const std::string& name);
  [[nodiscard]] bool is_changed(const std::string& name) const;
  void begin_look(Box& box, const Piece& piece, Batch& batch);
  bool show(const std::string& name, Box& box, Piece& piece, Batch& batch);
  [[nodiscard]] std::string stream_of(const std::string& box) const { return keys_.stream(box, RedisKeys::shared_box); }
  [[nodiscard]] std::string mark_of(const std::string& box, const schema::MessageKey& key) const {
    return keys_.mark(RedisKeys::shared_box, box, key.value);
  }
  using Work = std::function<std::vector<WriteReceipt>()>;
  /// Queues a job for the team's thread, in order, and returns `busy` in each of `count` results until it has run.
  /// Jobs with the same name are one job. Returns the results once.
  std::vector<WriteReceipt> job(const std::string& name, std::size_t count, Work work);
  [[nodiscard]] WriteReceipt append(const std::string& inbox, const schema::Envelope& letter, const std::string& bytes);

  const Clock& clock_;
  const RedisTeamSettings settings_;
  const RedisKeys keys_;
  const std::string place_;
  std::function<void()> ring_;
  std::unique_ptr<RedisBell> bell_;

  std::optional<Error> away_;  // error of the last scan or read; initially "redis.down"
  std::map<std::string, State> states_;
  std::map<std::string, Box> boxes_;
  std::vector<ReadyBox> ready_;
  std::string worries_;

  std::set<std::string> names_;  // every actor ever seen, including the lead
  std::set<std::string> newcomers_;  // actors seen in mail since the roster was read
  bool roster_is_read_ = false;
  RosterCopy copy_;
  std::map<std::string, std::map<schema::MessageKey, ReadStatus>> tracked_;  // by inbox

  Every look_at_tasks_{std::chrono::seconds(2)};
  bool sweep_wanted_ = false;
  long long finished_since_ms_ = -1;
  std::optional<TaskCounts> counts_;
  TaskSweep swept_;  // tasks not reported yet, and the errors of the last sweep
  std::vector<TaskFile> finished_;

  struct Job {
    std::string name;
    Work work;
    std::optional<std::vector<WriteReceipt>> results;
  };
  std::mutex jobs_lock_;
  std::list<Job> jobs_;  // in order of arrival
  bool is_carrying_ = false;

  RedisCaller redis_;  // the team's thread only
  RedisTasks tasks_;   // the team's thread only
  std::size_t done_then_ = 0;            // the team's thread only: count of done tasks at the last query
  std::set<std::string> told_finished_;  // the team's thread only: done tasks that were reported
  boost::asio::thread_pool thread_{1};
};

}  // namespace inbox_poller::poller
