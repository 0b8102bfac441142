// Keeps one team small when there is nothing else to do. Old rows leave the ledger, and recorded read entries leave the
// lead's inbox. Called within a poll, after a scan that left nothing undone. Source:
// docs/adr/0014-compaction-of-the-leads-inbox.md.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "handlers/compaction.hpp"
#include "poller/context/team_state.hpp"
#include "poller/every.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/team/requests.hpp"
#include "poller/team/shutdowns.hpp"

namespace inbox_poller::poller {

class Maintenance {
 public:
  Maintenance(TeamState& context, Mailbox& mailbox, const Requests& requests, const Shutdowns& shutdowns,
               boost::asio::any_io_executor executor)
      : context_(context), mailbox_(mailbox), requests_(requests), shutdowns_(shutdowns), executor_(std::move(executor)) {}

  /// Stores the size of the lead's inbox at the last scan, after its messages were accepted.
  void saw(const BoxSize& size) { size_ = size; }

  /// Deletes finished rows that are older than `limits.retention`, once an hour.
  void prune_now_and_then();

  /// True when removing read entries from the lead's inbox is worthwhile; at most once a minute.
  [[nodiscard]] bool is_compaction_due() const;
  /// Removes read entries that may leave the lead's inbox. `may_write` is called again right before the write. True
  /// when the inbox was read; entries that arrived meanwhile have not been accepted.
  boost::asio::awaitable<bool> compact(std::function<bool()> may_write);

  /// Counters since the start, for `status`.
  struct Compacted {
    std::size_t entries = 0;
    EpochMs last_ms = 0;  // wall clock; 0: never
  };
  [[nodiscard]] const Compacted& compacted() const { return compacted_; }

 private:
  /// Ledger data of read entries, by key.
  using Rows = std::unordered_map<std::string, handlers::ArchivedEntry>;

  /// Returns the indexes of the entries that may leave. `rows` come from the attempts a moment ago; an entry without
  /// pending work then has none now. Empty when the ledger cannot be read or writing is not allowed any more.
  boost::asio::awaitable<std::optional<std::vector<std::size_t>>> choose(std::span<const Item>, std::uint64_t bytes,
                                                                         const std::function<bool()>& may_write,
                                                                         Rows& rows);
  using OpenIds = std::vector<std::pair<std::string, std::string>>;  // a member's name and its request id
  Result<std::optional<handlers::ArchivedEntry>> archived(const schema::MessageKey& key, const OpenIds& open) const;
  /// Logs a problem once.
  void tell(const std::string& problem);

  TeamState& context_;
  Mailbox& mailbox_;
  const Requests& requests_;
  const Shutdowns& shutdowns_;
  boost::asio::any_io_executor executor_;
  BoxSize size_;
  Every prune_{std::chrono::hours(1)};
  SteadyTime compact_from_{};  // steady clock; no compaction before
  std::string problem_;
  Compacted compacted_;
};

}  // namespace inbox_poller::poller
