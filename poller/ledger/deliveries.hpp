// Chat on its way to the lead: queued, offered, delivered, or given up.
#pragma once

#include <map>
#include <vector>

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Chat for the lead that is queued or offered (digest material is not).
struct WaitingChat {
  long long all = 0;
  std::map<std::string, long long, std::less<>> by_sender;

  [[nodiscard]] long long of(std::string_view sender) const {
    const auto found = by_sender.find(sender);
    return found == by_sender.end() ? 0 : found->second;
  }
};

/// Where messages for the lead are on their way. A message that was never meant for the lead has no delivery.
class DeliveryTable {
 public:
  explicit DeliveryTable(Database& database) : database_(database) {}

  /// Queues a message that was just inserted as row `id`, unless it was never meant for the lead. `before` is
  /// Database::chat_changes() before that.
  Status add(long long id, const MessageRow& message, long long before);
  /// Queued messages (digest material excepted) whose batch owes no effect that is younger than `grace_before_ms` (or
  /// none at all, with Owed::of_any_age), in the order in which they go: urgent ones first, each with all that its
  /// sender wrote before it, then in arrival order. With `overdue`: only those that no longer wait for an idle lead,
  /// and what their senders wrote before them.
  enum class Owed { of_late, of_any_age };
  struct Overdue {
    EpochMs chat_before_ms = 0;    // chat received at or before this moment is overdue
    EpochMs urgent_before_ms = 0;  // likewise, urgent messages
  };
  Result<std::vector<MessageRow>> offerable(std::string_view team, EpochMs grace_before_ms, int limit,
                                            std::optional<Overdue> overdue = std::nullopt, Owed owed = Owed::of_late);
  /// What is queued is lent to a sink. Here and below: ids that are not in the state a step starts from stay as they are.
  Status mark_offered(const std::vector<long long>& ids, std::string_view sink, EpochMs now);
  /// Returns those that were not delivered before, in no order.
  Result<std::vector<long long>> mark_delivered(const std::vector<long long>& ids, EpochMs now,
                                                Confirmation confirmed = Confirmation::acknowledged);
  /// Given up: what is queued (or offered) becomes expired.
  Status mark_expired(const std::vector<long long>& ids, EpochMs now);
  /// Queued messages of any priority that were received at or before this moment, in no order.
  Result<std::vector<MessageRow>> queued_before(std::string_view team, EpochMs received_before_ms, int limit);
  /// Everything that waits to be summed up, oldest first.
  Result<std::vector<MessageRow>> digest_material(std::string_view team, int limit);
  /// Everything that is offered, of one team, or of all with an empty name; oldest first.
  Result<std::vector<MessageRow>> offered(std::string_view team);
  /// Back to queued: the sink went away or refused.
  Status requeue(std::string_view team, const std::vector<long long>& ids);
  /// Back to queued, and the offer does not count: nobody was shown it.
  Status unoffer(const std::vector<long long>& ids);
  /// Given up here, because the host that leads gets it from where it was written: what is queued becomes expired.
  Status hand_over(const std::vector<long long>& ids, EpochMs now);
  /// One of this sender that was handed over and not settled there: queued again.
  Status take_up(const schema::MessageKey&, std::string_view sender);
  /// A chat message that was left to another lead becomes ours: queued.
  Status take_over(const MessageRow& message);
  /// Everything offered, of all teams: used at start.
  Status requeue_all_offered();
  Result<ChatCounts> counts(std::string_view team);
  /// ChatCounts::queued alone: the others grow with all that was ever delivered.
  Result<long long> queued_count(std::string_view team);
  /// Chat or digest material waits to be offered.
  Result<bool> anything_queued(std::string_view team);
  /// What waits of this team. To count it reads all of it, so what comes and what is delivered is counted on. Good until
  /// the next call of anything here.
  Result<const WaitingChat*> waiting(std::string_view team);

 private:
  /// What was just written, since `before`, leaves all counts as they are.
  void keep_count(long long before);
  void count(std::string_view team, std::string_view sender, long long more);

  Database& database_;
  std::map<std::string, WaitingChat, std::less<>> waiting_;  // by team; as of
  long long counted_at_ = -1;                                // so many changes of chat
};

}  // namespace inbox_poller::poller
