// Chat on its way to one team's lead: the gate's state, the ladder of ways, what is lent out to whom, and the push to
// configured sinks. Invariant: a message leaves the queue only by an acknowledgement, by a push that was carried out,
// or by expiring; everything else puts it back, and its next offer is labelled as a possible repeat. Messages of one
// sender are offered in the order in which they arrived.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "handlers/gate.hpp"
#include "handlers/ladder.hpp"
#include "poller/context/team_context.hpp"
#include "poller/delivery/hook_offers.hpp"
#include "poller/delivery/sinks.hpp"
#include "poller/delivery/tmux_sink.hpp"

namespace inbox_poller::poller {

using handlers::LeadEvent;
using handlers::LeadState;
using handlers::WayState;

/// What a taker of messages may get.
struct Take {
  config::Way way = config::Way::socket;
  std::string sink;  // how it is recorded: the way's name, or "recv" for one who asks by hand
  std::size_t max = 20;
  bool by_hand = false;                   // whatever the ladder says
  bool even_busy = false;                 // whatever the lead is doing
  std::optional<std::size_t> most_text;   // bytes of their block(); the first message is offered whatever its length
  std::optional<config::Duration> lease;  // come back by themselves after this; without one the taker's connection is
                                          // the lease
};

class WaitingTaker;

/// The lead's session, as its hooks or its stream tell.
struct LeadSession {
  std::string id;
  std::string pane;  // "%3", when it lives in one
};

class Delivery {
 public:
  Delivery(TeamContext& context, FileSystem& files, Panes& panes)
      : context_(context), files_(files), tmux_(context, panes), hooks_(files, context.clock) {}

  /// The lead's state from before a restart. A busy state goes on running out.
  Status restore();
  /// While the team was not served nobody could write what is owed: it has its time once more before chat goes ahead.
  void serve_anew();

  [[nodiscard]] LeadState lead_state() const { return state_; }
  [[nodiscard]] const LeadRow& lead_row() const { return row_; }
  /// Another number than before once anything told of the lead's state.
  [[nodiscard]] long long reports() const { return reports_; }

  /// Something that tells what the lead is doing; `limit` bounds a busy state (default: delivery.busy_limit). What
  /// somebody said in so many words is recorded before this returns, the rest with the next tick: an event costs no
  /// write of its own, because a hook waits for us.
  Status report(LeadEvent event, std::optional<config::Duration> limit = std::nullopt,
                const LeadSession* session = nullptr);

  /// Ends busy states and leases that have run out, gives up what has waited too long, records what is not recorded
  /// yet. Call once a tick.
  void settle();

  /// Somebody is at this way, ready to take messages, until detach(): a host that runs the lead, a hook that waits, a
  /// follower.
  void attach(config::Way way) { stand_at(way, 1); }
  void detach(config::Way way) { stand_at(way, -1); }
  [[nodiscard]] bool is_attached(config::Way way) const;
  /// True while the message with that id in the ledger is offered: neither acknowledged nor back in the queue.
  [[nodiscard]] bool is_lent(long long id) const { return lent_.contains(id); }

  /// The ladder as it stands, in the order of delivery.via.
  [[nodiscard]] std::vector<WayState> ladder() const;
  [[nodiscard]] std::optional<config::Way> chosen() const { return handlers::choose(ladder()); }
  /// The way that the last batch went.
  [[nodiscard]] const std::string& last_sink() const { return last_sink_; }

  /// Lends out at most `max` messages in the order in which they go; from a closed gate only what is overdue. `taken`:
  /// acknowledged in the same transaction, and also when the offer fails.
  Result<std::vector<Offered>> offer(const Take&, const std::vector<std::string>& taken = {});
  /// For whoever accepts chat: lends what may go to the first who waits for it. What fails of it undoes only itself.
  void lend_on_arrival(Tx&);
  /// The borrower has them. Unknown keys are skipped; returns how many were newly delivered.
  /// `proof`: how it is known, where nobody said so in words; kept as a line of each message's life.
  Result<std::size_t> acknowledge(const std::vector<std::string>& keys, Confirmation how = Confirmation::acknowledged,
                                  const std::string& proof = {});
  /// That key, and those of everything that was lent out by this sink before it.
  [[nodiscard]] std::vector<std::string> taken_up_to(const std::string& sink, const std::string& key) const;
  /// The borrower went away: those still offered are queued again.
  void give_back(const std::vector<Offered>&,
                 std::string_view reason = "the receiver went away without acknowledging");
  /// Likewise, and it is known that they were shown to nobody: as if they had never been offered.
  void unoffer(const std::vector<Offered>&, std::string_view reason);

  /// A hook printed what it was lent. That is no acknowledgement: handlers/hook_proof.hpp says what is.
  void printed(HookOffer);
  /// Something was heard of the lead's session, by a hook of it: where its transcript is, and, if it `counts`, what it
  /// proves.
  void heard(const schema::HookEvent&, bool counts = true);
  HookOffers& hook_offers() { return hooks_; }
  /// What the file of the lead's session says of its turns now; empty: there is none (any more).
  void session_says(std::string_view status);
  /// What the lead's client said of itself to a hook of its session.
  void client_says(schema::ClientMode mode, std::string version, bool attended);
  /// All that is known of it.
  const handlers::ClientSight& client();
  /// Why hooks do not wake the lead when it is idle; empty where they do, and where no hook of its session was heard.
  std::string why_not_woken();

  /// Takes back everything that is lent out for a time: the team is no longer served.
  void recall();

  /// Pushes what may be offered, batch by batch, when the way is one on which we push (exec, file, tmux).
  boost::asio::awaitable<void> push();

  /// The lead's hooks tell that this prompt was submitted: confirms what was pasted into its terminal.
  void prompt_seen(const std::string& prompt);

 private:
  friend class WaitingTaker;
  void stand_at(config::Way way, int more) {
    attached_[way] += more;
    context_.changed(only(Area::teams));
  }
  [[nodiscard]] WayState state_of(config::Way) const;
  [[nodiscard]] bool tells_turns_now() const;
  [[nodiscard]] std::optional<DeliveryTable::Overdue> overdue_only(bool even_busy) const;
  Status record();
  void look_at_hooks();
  void carry_out(const std::vector<HookOffers::Verdict>&);
  /// How long what a hook printed may stay without any word of its session.
  [[nodiscard]] SteadyTime proof_limit(handlers::HookWay) const;
  void take_back(const std::vector<long long>& ids, std::string_view reason);
  Status requeue(const std::vector<long long>& ids);
  void expire_old();
  [[nodiscard]] bool is_digest_due(bool taken_along) const;
  /// Sums up the status messages that wait for it as one message.
  Result<std::optional<MessageRow>> digest(Tx& tx);
  void tell_fall(config::Way way);
  /// What may be offered now.
  struct Offerable {
    std::vector<MessageRow> rows;
    bool digest_due = false;
  };
  [[nodiscard]] Result<Offerable> offerable(const Take&) const;
  [[nodiscard]] bool is_turn_of(const Take& take) const { return take.by_hand || chosen() == take.way; }
  // What offer() is made of.
  /// What fails of it undoes only itself, and nothing is in `messages`.
  Status lend_apart(const Take&, Tx&, std::vector<Offered>& messages);
  Status lend_out(Offerable, const Take&, Tx&, std::vector<Offered>&);
  /// The ids of what is newly delivered.
  Result<std::vector<long long>> note_taken(const std::vector<std::string>& keys, Confirmation,
                                            const std::string& proof, Tx&);
  void note_lent(const std::vector<Offered>&, const Take&);
  void forget_loans(const std::vector<long long>& ids);
  boost::asio::awaitable<bool> push_batch();
  /// Something waits, and could be pasted.
  boost::asio::awaitable<bool> may_paste(Take take);
  boost::asio::awaitable<Status> deliver(config::Way way, const std::vector<Offered>& messages);
  bool pushed(config::Way way, const std::vector<Offered>& messages);
  /// Pastes the line that says how to get the messages; they stay queued.
  boost::asio::awaitable<bool> point();
  void failed(config::Way way, const Error& why);

  struct Change {
    LeadState old, now;
    LeadEvent by;
  };
  struct Loan {
    long long order = 0;  // of handing out, which is not that of ids: urgent ones go first
    std::string key;
    std::string from;
    EpochMs received_ms = 0;
    std::string sink;
    std::optional<SteadyTime> until = {};  // when it comes back by itself
  };
  struct Pasted {
    std::string text;  // without its spaces
    std::vector<std::string> keys;
  };
  struct Backoff {
    SteadyTime until{};
    int failures = 0;
    std::string why;
  };

  TeamContext& context_;
  FileSystem& files_;
  TmuxSink tmux_;
  HookOffers hooks_;
  handlers::ClientSight client_;
  LeadState state_ = LeadState::idle;
  LeadRow row_{"idle", 0, 0, {}, {}, {}};
  SteadyTime serves_since_{};
  std::vector<Change> untold_;  // changes of state that are not recorded yet
  bool unrecorded_ = false;
  long long reports_ = 0;
  std::optional<SteadyTime> recorded_at_;
  std::optional<SteadyTime> busy_until_;
  std::vector<WaitingTaker*> waiting_;
  std::map<long long, Loan> lent_;  // by message id: what is offered
  std::unordered_map<std::string_view, long long> lent_keys_;  // of the same, in lent_
  long long handed_out_ = 0;
  std::map<config::Way, int> attached_;
  std::map<config::Way, Backoff> backoff_;
  Pasted pasted_;                      // what waits for the lead's hooks to confirm it
  std::optional<SteadyTime> pointed_;  // when the lead's terminal last got the line that says how to get messages
  std::optional<config::Way> last_way_;
  std::string last_sink_;
};

}  // namespace inbox_poller::poller
