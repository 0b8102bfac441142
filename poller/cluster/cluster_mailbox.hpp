// The Mailbox of a team on several nodes: local inboxes without those of members on other nodes.
// A post to a remote inbox becomes a ledger row; receipts of the other node give its read status. Messages of other
// nodes for the lead appear in extra inboxes, such as "team-lead@h2". Callers therefore need not know of nodes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "poller/cluster/node_state.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

/// Mailbox of one team on this node. `state` and `local` must outlive this object. Decision thread only.
/// Errors: those of `local`; a remote inbox adds errors of the ledger ("ledger.*"), reported as WriteStatus::fault.
class ClusterMailbox final : public Mailbox {
 public:
  ClusterMailbox(NodeState& state, Mailbox& local) : state_(state), local_(local) {}

  /// Names of the inboxes that hold messages of other nodes for the lead; empty unless this node leads.
  std::vector<std::string> lead_boxes();
  /// All inboxes of this node, local or remote owner, as of the last ready_boxes().
  [[nodiscard]] std::span<const ReadyBox> here() const { return here_; }
  /// Makes the next ready_boxes() report tracked remote inboxes as changed, because a receipt may have arrived.
  void heard() { heard_ = true; }

  Result<std::span<const ReadyBox>> ready_boxes() override;
  [[nodiscard]] bool is_idle() const override { return is_idle_; }
  void use_notifications(bool rely) override { local_.use_notifications(rely); }
  boost::asio::awaitable<Batch> receive(std::string box, Access, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack>) override;
  void rewind(const std::string& box) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override { return local_.decode(bytes); }
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> referenced(const std::string& box) const override;
  boost::asio::awaitable<Expunged> expunge(std::string box, RetentionPolicy choose) override {
    return local_.expunge(std::move(box), std::move(choose));
  }
  [[nodiscard]] Contention contention() const override { return local_.contention(); }
  [[nodiscard]] std::string location(const std::string& box) const override { return local_.location(box); }
  using Mailbox::post;
  std::vector<WriteReceipt> post(const std::string& inbox, std::span<const schema::Message>) override;
  void track(const std::string& inbox, const schema::MessageKey&) override;
  [[nodiscard]] ReadStatus read_status(const std::string& inbox, const schema::MessageKey&) const override;
  void untrack(const std::string& inbox, const schema::MessageKey&) override;
  WriteReceipt recall(const std::string& inbox, std::span<const schema::MessageKey>) override;

 private:
  /// Rows of one lead inbox that the last receive() returned.
  struct Shown {
    std::vector<NodeMailRow> rows;
    long long behind = 0;       // the next receive() continues after this row
    std::set<long long> left;   // acknowledged as `skip`
  };
  /// Sending node of the messages in this lead inbox; empty for any other inbox.
  [[nodiscard]] std::optional<std::string> letters_of(const std::string& box) const;
  [[nodiscard]] bool is_elsewhere(const std::string& inbox) const;
  /// True for a message whose sender may have joined the team since the last heartbeat of its node. It waits with what
  /// comes after it: a request of a sender that seems to have left would be rejected.
  [[nodiscard]] bool is_early(const NodeMailRow& row) const;
  [[nodiscard]] NodeMailRow row_of(const std::string& inbox, const schema::Message&) const;

  NodeState& state_;
  Mailbox& local_;
  std::vector<ReadyBox> here_, ready_;
  std::map<std::string, Shown> shown_;
  std::set<std::string> posted_;  // remote inboxes that were posted to or are tracked
  bool heard_ = true;
  bool is_idle_ = false;
};

}  // namespace inbox_poller::poller
