// Chat on its way to one team's lead: the gate's state, the ladder of ways, what is lent out to whom, and the push to
// configured sinks. Invariant: a message leaves the queue only by an acknowledgement, by a push that was carried out,
// or by expiring; everything else puts it back, and its next offer is labelled as a possible repeat. Messages of one
// sender are offered in the order in which they arrived.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/context/team_state.hpp"
#include "poller/delivery/hook_offers.hpp"
#include "poller/delivery/lead_activity.hpp"
#include "poller/delivery/leases.hpp"
#include "poller/delivery/routes.hpp"
#include "poller/delivery/sinks.hpp"
#include "poller/delivery/tmux_sink.hpp"

namespace inbox_poller::poller {

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

/// Somebody who waits for chat.
struct WaitingFor {
  Take take;
  std::vector<Offered> lent = {};
};

class Delivery {
 public:
  Delivery(TeamState& context, FileSystem& files, Panes& panes)
      : context_(context),
        files_(files),
        tmux_(context, panes),
        hooks_(files, context.clock),
        lead_(context),
        routes_(context, lead_, tmux_) {}

  /// The lead's state from before a restart.
  Status restore();
  /// While the team was not served nobody could write what is owed: it has its time once more before chat goes ahead.
  void serve_anew();
  /// Ends busy states and leases that have run out, gives up what has waited too long, records what is not recorded
  /// yet. Call once a tick.
  void run_due();

  /// What the lead is doing.
  LeadActivity& lead() { return lead_; }
  /// The ways to it.
  Routes& routes() { return routes_; }
  /// Who has what is offered, and neither acknowledged nor back in the queue.
  Leases& leases() { return leases_; }

  /// Lends out at most `max` messages in the order in which they go; from a closed gate only what is overdue. `taken`:
  /// acknowledged in the same transaction, and also when the offer fails.
  Result<std::vector<Offered>> offer(const Take&, const std::vector<std::string>& taken = {});
  /// Waits from now on, until stop_waiting(): waiting_taker.hpp.
  void wait_for(WaitingFor& one) { waiting_.push_back(&one); }
  void stop_waiting(WaitingFor& one) { std::erase(waiting_, &one); }
  /// For whoever accepts chat: lends what may go to the first who waits for it. What fails of it undoes only itself.
  void lend_on_arrival(Tx&);
  /// The borrower has them. Unknown keys are skipped; returns how many were newly delivered.
  /// `proof`: how it is known, where nobody said so in words; kept as a line of each message's life.
  Result<std::size_t> acknowledge(const std::vector<std::string>& keys, Confirmation how = Confirmation::acknowledged,
                                  const std::string& proof = {});
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
  /// Takes back everything that is lent out for a time: the team is no longer served.
  void recall();

  /// Pushes what may be offered, batch by batch, when the way is one on which we push (exec, file, tmux).
  boost::asio::awaitable<void> push();

  /// The lead's hooks tell that this prompt was submitted: confirms what was pasted into its terminal.
  void prompt_seen(const std::string& prompt);

 private:
  [[nodiscard]] std::optional<DeliveryTable::Overdue> overdue_only(bool even_busy) const;
  void look_at_hooks();
  void carry_out(const std::vector<HookOffers::Verdict>&);
  void take_back(const std::vector<long long>& ids, std::string_view reason);
  Status requeue(const std::vector<long long>& ids);
  void expire_old();
  [[nodiscard]] bool is_digest_due(bool taken_along) const;
  /// Sums up the status messages that wait for it as one message.
  Result<std::optional<MessageRow>> digest(Tx& tx);
  /// What may be offered now.
  struct Offerable {
    std::vector<MessageRow> rows;
    bool digest_due = false;
  };
  [[nodiscard]] Result<Offerable> offerable(const Take&) const;
  [[nodiscard]] bool is_turn_of(const Take& take) const { return take.by_hand || routes_.chosen() == take.way; }
  // What offer() is made of.
  /// What fails of it undoes only itself, and nothing is in `messages`.
  Status lend_apart(const Take&, Tx&, std::vector<Offered>& messages);
  Status lend_out(Offerable, const Take&, Tx&, std::vector<Offered>&);
  /// The ids of what is newly delivered.
  Result<std::vector<long long>> note_taken(const std::vector<std::string>& keys, Confirmation,
                                            const std::string& proof, Tx&);
  void note_lent(const std::vector<Offered>&, const Take&);
  boost::asio::awaitable<bool> push_batch();
  /// Something waits, and could be pasted.
  boost::asio::awaitable<bool> may_paste(Take take);
  boost::asio::awaitable<Status> deliver(config::Way way, const std::vector<Offered>& messages);
  bool pushed(config::Way way, const std::vector<Offered>& messages);
  /// Pastes the line that says how to get the messages; they stay queued.
  boost::asio::awaitable<bool> point();

  struct ScreenEvidence {
    std::string text;  // without its spaces
    std::vector<std::string> keys;
  };
  TeamState& context_;
  FileSystem& files_;
  TmuxSink tmux_;
  HookOffers hooks_;
  LeadActivity lead_;
  Routes routes_;
  SteadyTime serves_since_{};
  std::vector<WaitingFor*> waiting_;
  Leases leases_;
  ScreenEvidence in_terminal_;                      // what waits for the lead's hooks to confirm it
  std::optional<SteadyTime> pointed_;  // when the lead's terminal last got the line that says how to get messages
};

}  // namespace inbox_poller::poller
