// What one team with [hosts] needs on this host, put together: its boxes and roster as everybody above sees them, the
// lease, what it tells other hosts and hears of them, and the mail between them. Three coroutines run beside the team's
// polls; the poll itself calls carry(). Source: docs/adr/0044-hosts.md.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "poller/hosts/local_delivery.hpp"
#include "poller/hosts/relay.hpp"
#include "poller/hosts/cluster_mailbox.hpp"
#include "poller/hosts/cluster_roster.hpp"
#include "schema/operations/hosts.hpp"

namespace inbox_poller::poller {

class ClusterMember {
 public:
  /// Without an exchange nothing goes to other hosts or comes from them, and status says why.
  ClusterMember(TeamState& context, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<RosterStore> members,
              std::unique_ptr<Broker> exchange, std::string why_none);

  /// To be called before anything else.
  Status restore();

  Mailbox& mailbox() { return mailbox_; }
  RosterStore& members() { return members_; }
  std::vector<std::string> lead_boxes() { return mailbox_.lead_boxes(); }
  /// Mail between this host's boxes and the ledger; behind the poll's ready_boxes(). What is for the lead stays, with `hold_lead`.
  boost::asio::awaitable<void> carry(bool hold_lead) { return carrier_.run(mailbox_.here(), hold_lead); }
  /// Letters of this host to whoever leads are not in his ledger yet.
  [[nodiscard]] bool letters_to_lead_wait() const;

  /// What we are in the team, as far as hosts are concerned.
  [[nodiscard]] handlers::Membership standing() const;
  /// An error while another host may lead: nothing may be decided.
  [[nodiscard]] Status may_decide() const;
  /// Whether this host is to lead if it can; false: it gives the lease back.
  void want_to_lead(bool wanted);
  /// Workers that are to end: what other hosts are told of it.
  void tell_ends(std::vector<HostEnd> orders, std::vector<HostEnd> ends);
  /// Called before this host begins to lead after others did: what it had not settled may be settled elsewhere.
  void before_leading(std::function<Status()> work) { before_leading_ = std::move(work); }
  /// Open asks of this host's ledger, by kind (the type of their answer) and id; and that another host answered one.
  struct KnownAsks {
    std::function<std::vector<std::pair<std::string, std::string>>()> open;
    std::function<Status(const std::string& kind, const std::string& id, const std::string& host)> answered;
  };
  void know_asks(KnownAsks asks) { asks_ = std::move(asks); }
  /// This message, which stood in a box here, is for the lead on whichever host. To be called in a transaction.
  Status hand_over(const MessageRow&, Tx&);
  /// A letter for a worker here is filed once this says so.
  void file_when(std::function<bool(const HostMailRow&)> may) { state_.may_file = std::move(may); }
  /// The team is to look soon: something arrived, or who leads has changed.
  void on_news(std::function<void()> wake);

  /// What is due of the lease and of what hosts tell each other.
  boost::asio::awaitable<void> turn();
  // Beside the polls; each until `given_up`, of which wake() has them ask.
  boost::asio::awaitable<void> keep_lease(std::function<bool()> given_up);
  boost::asio::awaitable<void> send(std::function<bool()> given_up);
  boost::asio::awaitable<void> receive(std::function<bool()> given_up);
  void wake();

  [[nodiscard]] const HostState& state() const { return state_; }
  /// What `status` and `inbox-poller hosts` show.
  [[nodiscard]] operations::Hosts told() const;

 private:
  boost::asio::awaitable<void> step_lease();
  boost::asio::awaitable<void> beat();
  void took(std::chrono::nanoseconds);
  /// To the engine and back, the median of the last beats; 0: none yet.
  [[nodiscard]] std::chrono::microseconds round_trip() const;
  void take_beats(std::vector<Heartbeat> beats);
  void leads(const HostLease& lease);
  [[nodiscard]] bool wants_to_lead() const;
  Status note_epoch(std::int64_t epoch);
  /// What others decided while they led is known, and what is to be known is on the disk: we may lead.
  boost::asio::awaitable<bool> begin_to_lead(std::int64_t epoch);

  HostState state_;
  std::shared_ptr<Mailbox> local_mailbox_;
  std::shared_ptr<RosterStore> local_members_;
  std::unique_ptr<Broker> exchange_;
  ClusterMailbox mailbox_;
  ClusterRoster members_;
  LocalDelivery carrier_;
  std::unique_ptr<Relay> relay_;
  bool wanted_ = true;
  handlers::Moment beaten_{-handlers::lease_lasts};
  std::uint64_t told_roster_ = 0;  // which of ours was told, with what of workers that end
  std::vector<std::chrono::microseconds> round_trips_;  // of the last beats
  handlers::Moment pruned_{0};
  Signal turn_;  // of keep_lease
  std::function<void()> poke_ = [] {};
  std::function<Status()> before_leading_ = [] { return Status(Done{}); };
  KnownAsks asks_;
};

}  // namespace inbox_poller::poller
