// Deliveries of messages to the lead: queued, offered, delivered or expired.
#pragma once

#include <map>
#include <vector>

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Number of queued and offered messages for the lead, without status messages that wait for the digest.
struct WaitingChat {
  long long all = 0;
  std::map<std::string, long long, std::less<>> by_sender;

  [[nodiscard]] long long of(std::string_view sender) const {
    const auto found = by_sender.find(sender);
    return found == by_sender.end() ? 0 : found->second;
  }
};

/// Delivery states of messages for the lead. A message for another reader has no delivery. Errors: "ledger.*".
class DeliveryTable {
 public:
  explicit DeliveryTable(Database& database) : database_(database) {}

  /// The moment when the delivery of a new message is inserted: with the message, or by queue(), which is cheaper.
  enum class Queued { now, later };
  /// Inserts the delivery of a message that was just inserted as row `id`, unless its state is `none`. `before` is the
  /// value of Database::chat_changes() before the message was inserted. Counts the message also if it is queued later.
  Status add(long long id, const MessageRow& message, long long before, Queued);
  /// Inserts the deliveries of messages that were inserted with `later`, as queued and never offered. Call it before
  /// their transaction ends.
  Status queue(std::string_view team, Priority priority, const std::vector<long long>& ids);
  /// Pending replies that hold back the chat of their batch and of later ones: those of late, or all.
  enum class Owed { of_late, of_any_age };
  /// Limits of the time that messages wait for an idle lead.
  struct Overdue {
    EpochMs chat_before_ms = 0;    // chat received at or before this moment is overdue
    EpochMs urgent_before_ms = 0;  // the same for urgent messages
  };
  /// Lists queued messages, without status messages for the digest, in the order of delivery. Urgent ones come first,
  /// each after its sender's earlier messages; the others follow by arrival. A pending reply created after
  /// `grace_before_ms` holds back its batch and later ones. With `overdue`, lists only overdue messages and those that
  /// their senders wrote before.
  Result<std::vector<MessageRow>> ready_messages(std::string_view team, EpochMs grace_before_ms, int limit,
                                            std::optional<Overdue> overdue = std::nullopt, Owed owed = Owed::of_late);
  /// Moves queued messages to offered and counts the attempt. This and the next functions skip ids in other states.
  Status mark_offered(const std::vector<long long>& ids, std::string_view method, EpochMs now);
  /// Moves queued and offered messages to delivered. Returns the ids of the moved messages, in no order.
  Result<std::vector<long long>> mark_delivered(const std::vector<long long>& ids, EpochMs now,
                                                Confirmation confirmed = Confirmation::acknowledged);
  /// Moves queued and offered messages to expired.
  Status mark_expired(const std::vector<long long>& ids, EpochMs now);
  /// Lists queued messages of any priority, in no order: all, or those received at or before a moment of the wall
  /// clock. That clock may be set back, so "now" does not mean all.
  Result<std::vector<MessageRow>> queued(std::string_view team, int limit, EpochMs received_by_ms = INT64_MAX);
  /// Lists the status messages that wait for the digest, oldest first.
  Result<std::vector<MessageRow>> digest_material(std::string_view team, int limit);
  /// Lists offered messages, oldest first. An empty `team` means all teams.
  Result<std::vector<MessageRow>> offered(std::string_view team);
  /// Requeues offered messages, because their receiver went away or rejected them.
  Status requeue(std::string_view team, const std::vector<long long>& ids);
  /// Requeues offered messages and decrements their attempts, because no reader saw them.
  Status return_unseen(const std::vector<long long>& ids);
  /// Moves queued messages to expired, because the leader node gets them from their sender's node.
  Status hand_over(const std::vector<long long>& ids, EpochMs now);
  /// Requeues the message with this key and sender, if hand_over() expired it.
  Status take_up(const schema::MessageKey&, std::string_view sender);
  /// Queues a chat message without a delivery, because it was left to another lead before.
  Status adopt(const MessageRow& message);
  /// Requeues the offered messages of all teams; the daemon calls this at its start.
  Status requeue_all_offered();
  Result<ChatCounts> counts(std::string_view team);
  /// Returns ChatCounts::queued alone, because the time of counts() grows with all past deliveries.
  Result<long long> queued_count(std::string_view team);
  /// Returns true if a message or a status message for the digest waits to be offered.
  Result<bool> anything_queued(std::string_view team);
  /// Counts the waiting chat of a team. Counting reads all its rows, so arrivals and deliveries only adjust the count.
  /// The result is valid until the next call of any function here.
  Result<const WaitingChat*> waiting(std::string_view team);

 private:
  /// Declares that the writes since `before` do not change the counts, or that count() adds them.
  void keep_count(long long before);
  void count(std::string_view team, std::string_view sender, long long more);

  Database& database_;
  std::map<std::string, WaitingChat, std::less<>> waiting_;  // by team
  long long counted_at_ = -1;                                // chat_changes() at which `waiting_` is valid
};

}  // namespace inbox_poller::poller
