// Delivery of chat to one team's lead: the gate, the delivery methods, the leases, and the push to configured programs
// and files. Invariant: a message leaves the queue only by an acknowledgment, a successful push, or expiry. Any other
// end of a lease requeues it, and its next offer is labeled as a possible repeat. Messages of one sender are offered
// in the order of arrival.
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

/// Limits and conditions of one lease of messages.
struct FetchOptions {
  config::DeliveryMethod method = config::DeliveryMethod::socket;
  std::string receiver;  // recorded name: the method's, or "recv" for a manual call
  std::size_t max = 20;
  bool by_hand = false;                   // ignores the chosen delivery method
  bool ignore_busy = false;                 // ignores the lead's state
  std::optional<std::size_t> most_text;   // bytes of their block(); the first message is offered whatever its length
  std::optional<config::Duration> lease;  // requeued after this time (steady clock); empty: when the connection closes
};

/// A receiver that waits for chat.
struct WaitingFor {
  FetchOptions fetch;
  std::vector<LeasedMessage> leased = {};
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

  /// Loads the lead's state from before a restart. Errors: ledger.*.
  Status restore();
  /// Restarts the time that unsent replies have before chat may overtake them, because an unreachable team sends none.
  void serve_anew();
  /// Ends expired busy states and leases, expires messages that waited too long, and records pending lead events. Call
  /// once a tick.
  void run_due();

  /// The lead's activity.
  LeadActivity& lead() { return lead_; }
  /// The delivery methods.
  Routes& routes() { return routes_; }
  /// The leases of offered messages.
  Leases& leases() { return leases_; }

  /// Leases up to `max` messages in delivery order; while the gate is closed, only overdue ones. `taken` is
  /// acknowledged in the same transaction, even if leasing fails. Errors: ledger.*.
  Result<std::vector<LeasedMessage>> offer(const FetchOptions&, const std::vector<std::string>& taken = {});
  /// Registers a waiting receiver until stop_waiting(); `one` must live until then. See pending_fetch.hpp.
  void wait_for(WaitingFor& one) { waiting_.push_back(&one); }
  void stop_waiting(WaitingFor& one) { std::erase(waiting_, &one); }
  /// Call in the transaction that stores chat. Leases messages to the first waiting receiver in a savepoint; takes
  /// effect after the commit.
  void lease_on_arrival(Tx&);
  /// Marks the messages as delivered. Skips unknown keys. Returns the number newly delivered. `proof` is the evidence
  /// where no receiver acknowledged; it is kept in each message's history. Errors: ledger.*.
  Result<std::size_t> acknowledge(const std::vector<std::string>& keys, Confirmation how = Confirmation::acknowledged,
                                  const std::string& proof = {});
  /// Requeues messages that are still offered, because their receiver went away.
  void requeue(const std::vector<LeasedMessage>&,
                 std::string_view reason = "the receiver went away without acknowledging");
  /// Returns leased messages that nobody saw: `attempts` is decreased, so they are not labeled as repeats.
  void return_unseen(const std::vector<LeasedMessage>&, std::string_view reason);

  /// Records that a hook printed its messages. This is not an acknowledgment; handlers/hook_proof.hpp lists the
  /// proofs.
  void printed(HookOffer);
  /// Evaluates a hook event of the lead's session. Only an event that `counts` can prove a delivery; any event makes
  /// the transcript be read.
  void heard(const schema::HookEvent&, bool counts = true);
  HookOffers& hook_offers() { return hooks_; }
  /// Requeues all messages with a lease time, because the team is not served any more.
  void recall();

  /// Pushes available messages in batches if the chosen method is a pushed one (exec, file, tmux).
  boost::asio::awaitable<void> push();

  /// Acknowledges messages that were pasted into the lead's terminal, because its hook reported this prompt as
  /// submitted.
  void prompt_seen(const std::string& prompt);

 private:
  [[nodiscard]] std::optional<DeliveryTable::Overdue> overdue_only(bool ignore_busy) const;
  void look_at_hooks();
  void carry_out(const std::vector<HookOffers::Verdict>&);
  void end_leases(const std::vector<long long>& ids, std::string_view reason);
  Status requeue_rows(const std::vector<long long>& ids);
  void expire_old();
  [[nodiscard]] bool is_digest_due(bool taken_along) const;
  /// Combines the waiting status messages into one message.
  Result<std::optional<MessageRow>> digest(Tx& tx);
  /// Messages that may be offered now.
  struct ReadyMessages {
    std::vector<MessageRow> rows;
    bool digest_due = false;
  };
  [[nodiscard]] Result<ReadyMessages> ready_messages(const FetchOptions&) const;
  [[nodiscard]] bool is_turn_of(const FetchOptions& fetch) const {
    return fetch.by_hand || routes_.chosen() == fetch.method;
  }
  // Leases in a savepoint: a failure undoes only this, and `messages` is empty.
  Status lease_separately(const FetchOptions&, Tx&, std::vector<LeasedMessage>& messages);
  Status lease_available(ReadyMessages, const FetchOptions&, Tx&, std::vector<LeasedMessage>&);
  /// Returns the ids of the newly delivered messages.
  Result<std::vector<long long>> note_taken(const std::vector<std::string>& keys, Confirmation,
                                            const std::string& proof, Tx&);
  void log_leases(const std::vector<LeasedMessage>&, const FetchOptions&);
  boost::asio::awaitable<bool> push_batch();
  /// True when a message waits and could be pasted.
  boost::asio::awaitable<bool> may_paste(FetchOptions fetch);
  boost::asio::awaitable<Status> deliver(config::DeliveryMethod method, const std::vector<LeasedMessage>& messages);
  bool pushed(config::DeliveryMethod method, const std::vector<LeasedMessage>& messages);
  /// Pastes the line that tells how to get the messages; they stay queued.
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
  ScreenEvidence in_terminal_;                      // pasted text that a hook of the lead has to confirm
  std::optional<SteadyTime> pointed_;  // when the lead's terminal last got the line that tells how to get messages
};

}  // namespace inbox_poller::poller
