// A team whose mail and tasks are in Redis, as the team of the actor whose mail we deliver: what a maildir is with files
// (maildir_mailbox.hpp). Nothing here waits for the network on the thread that decides: a poll begins with one look at
// all boxes (refresh), pieces of a box are fetched by awaitables, what is posted is carried by a thread of the team's own
// and told at the next try. So an engine that is slow, or gone, holds up this team and no other.
// Invariants: an entry is acknowledged after it was committed and never before; what was shown and not settled is shown
// again, also to the next process of this reader; what we write is there once for each key, and is written again when
// the engine has lost it; a name that was met stays a member, also in an engine that was emptied; one daemon at a time
// takes an actor's mail: who was first, until it has not looked for some time.
// Source: docs/adr/0049-redis-teams.md.
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

struct RedisTeamSettings {
  config::EngineAddress address;     // with the team's name there
  std::string team;                  // as the ledger calls it
  std::string lead;                  // the actor whose mail is delivered
  std::vector<std::string> members;  // empty: whoever has a box, or writes to the lead
  bool writes = true;                // false: an observer's
  std::string reader;                // whose entries are ours: the same after a restart, no other daemon's
  std::chrono::milliseconds served_for{15'000};  // so long after its last look a daemon counts as there; polls are more often
  TaskSettings tasks;
};

class RedisMailbox final : public Mailbox, public RosterStore, public TaskEvents {
 public:
  RedisMailbox(const Clock& clock, RedisTeamSettings settings);
  ~RedisMailbox() override;

  boost::asio::awaitable<void> refresh() override;
  void on_news(std::function<void()> ring) override { ring_ = std::move(ring); }
  Result<std::span<const News>> ready_boxes() override;
  boost::asio::awaitable<Batch> receive(std::string box, Access reader, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack> disposals) override;
  void rewind(const std::string& box) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override;
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> held(const std::string& box) const override;
  boost::asio::awaitable<Trimmed> trim(std::string box, RetentionPolicy choose) override;
  [[nodiscard]] Contention contention() const override { return {}; }
  [[nodiscard]] std::string place_of(const std::string& box) const override;

  /// `busy` until the engine has answered.
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
  [[nodiscard]] bool roster_is_lost() const override { return false; }
  WriteReceipt mend_roster(const std::vector<std::string>& without) override;
  WriteReceipt remove_member(const std::string& name) override;
  TasksReleased release_tasks(const std::string& name, const std::string& agent_id) override;
  TaskAssigned assign_task(const std::string& task, const std::string& name,
                           const std::function<bool(const std::string& owner)>& is_there) override;

  /// As of the last look, some seconds ago at most.
  [[nodiscard]] Result<TaskCounts> counts() const override;
  /// What was found over by the look before; asks for another one.
  Result<std::vector<GivenBack>> sweep() override;
  [[nodiscard]] std::vector<std::string> troubles() const override { return troubles_; }
  Result<std::vector<FinishedTask>> finished(long long since_ns) override;

 private:
  /// A box as one look saw it.
  struct State {
    std::string delivered;  // the last entry that was handed to a reader; empty: none
    long long pending = 0;  // of these, not taken
    long long rest = 0;     // not handed to anybody; negative: some
    std::string more;       // whatever else changes with it
    std::string wrong;      // why it is no box
    bool operator==(const State&) const = default;
  };
  struct Entry {
    std::string id, bytes, from;
    schema::MessageKey key;
    bool skipped = false;  // settled before: not shown
  };
  struct Known {  // unread, and shown
    schema::MessageKey key;
    SteadyTime since;
    EpochMs first_ms;
  };
  struct Box {
    Access reader = Access::peek;
    State looked;                           // when the look under way began
    std::optional<State> seen;              // when the last whole look began; none: there was none
    std::string floor;                      // all up to this entry is settled
    bool floor_rises = true;                // in this look
    std::string cursor;                     // the last entry of the piece before
    bool goes_on = false;                   // the look has more
    bool left_out = false;                  // somebody else of the actor is offered an entry
    std::vector<Entry> piece;
    std::map<std::string, Known> known;     // by entry
    std::set<std::string> left;             // not to be shown again, and unread
    std::map<schema::MessageKey, SteadyTime> taken;  // by us, lately
  };
  struct Wanted {
    bool tasks = false, sweep = false;
    long long finished_since_ms = -1;
  };
  struct Look {
    std::optional<Error> failed;
    std::vector<std::pair<std::string, State>> boxes;
    std::vector<std::string> worries, troubles;
    std::optional<TaskCounts> counts;
    std::vector<GivenBack> given_back;
    std::vector<FinishedTask> finished;
  };
  struct PieceWanted {
    std::string box, from;
    bool owns = false, pending = false;
    std::size_t most = 0;
    std::vector<schema::MessageKey> followed;
  };
  struct Piece {
    std::optional<Error> failed;
    bool more = false;
    std::string left_out;            // the first entry that somebody else is offered
    std::vector<Entry> entries;
    std::set<std::string> pending;   // all of them, where they were asked for
    std::vector<ReadStatus> fates;         // of `followed`
  };

  // On the team's own thread: nothing of ours but what is constant, and what stands behind the mutex.
  Look look(const Wanted&);
  void look_at_tasks(const Wanted&, Look&);
  Piece read(const PieceWanted&);
  Entry entry_of(const std::string& box, const RedisReply&) const;
  std::optional<Error> ack_entries(const std::string& box, const std::vector<std::string>& consumed,
                        const std::vector<std::string>& freed);
  void carry();
  /// What stands in the way of a change.
  static WriteReceipt why_not(const Error& error);

  void adopt(Look);
  /// False when it was met before, or too many were.
  bool meet(const std::string& name);
  [[nodiscard]] bool is_changed(const std::string& name) const;
  void begin_look(Box& box, const Piece& piece, Batch& batch);
  bool show(const std::string& name, Box& box, Piece& piece, Batch& batch);
  [[nodiscard]] std::string stream_of(const std::string& box) const { return keys_.stream(box, RedisKeys::shared_box); }
  [[nodiscard]] std::string mark_of(const std::string& box, const schema::MessageKey& key) const {
    return keys_.mark(RedisKeys::shared_box, box, key.value);
  }
  using Work = std::function<std::vector<WriteReceipt>()>;
  /// Done by the team's thread, one after another, `count` results; `busy` until then.
  std::vector<WriteReceipt> errand(const std::string& name, std::size_t count, Work work);
  [[nodiscard]] WriteReceipt append(const std::string& inbox, const schema::Envelope& letter, const std::string& bytes);

  const Clock& clock_;
  const RedisTeamSettings settings_;
  const RedisKeys keys_;
  const std::string place_;
  std::function<void()> ring_;
  std::unique_ptr<RedisBell> bell_;

  std::optional<Error> away_;  // why the last call did not work; before the first one, that there was none
  std::map<std::string, State> states_;
  std::map<std::string, Box> boxes_;
  std::vector<News> news_;
  std::string worries_;

  std::set<std::string> names_;  // whoever was ever met, the lead too
  std::set<std::string> newcomers_;  // met since the roster was read, by their letters
  bool roster_is_read_ = false;
  RosterCopy copy_;
  std::map<std::string, std::map<schema::MessageKey, ReadStatus>> followed_;  // by inbox

  Every look_at_tasks_{std::chrono::seconds(2)};
  bool sweep_wanted_ = false;
  long long finished_since_ms_ = -1;
  std::optional<TaskCounts> counts_;
  std::vector<GivenBack> given_back_;
  std::vector<FinishedTask> finished_;
  std::vector<std::string> troubles_;

  struct Errand {
    std::string name;
    Work work;
    std::optional<std::vector<WriteReceipt>> results;
  };
  std::mutex errands_lock_;
  std::list<Errand> errands_;  // in the order in which they came
  bool is_carrying_ = false;

  RedisCaller redis_;  // the team's thread only
  RedisTasks tasks_;   // likewise
  std::size_t done_then_ = 0;            // likewise: when finished tasks were looked for last, and
  std::set<std::string> told_finished_;  // what of them was told
  boost::asio::thread_pool thread_{1};
};

}  // namespace inbox_poller::poller
