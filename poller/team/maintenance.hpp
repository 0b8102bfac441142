// What keeps one team small when nothing else is to do: old rows leave the ledger, and read entries that the ledger
// has leave the lead's inbox. Called within a poll, after a reading that left nothing undone. Source:
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
#include "poller/team/asks.hpp"
#include "poller/team/shutdowns.hpp"

namespace inbox_poller::poller {

class Maintenance {
 public:
  Maintenance(TeamState& context, Mailbox& mailbox, const Asks& asks, const Shutdowns& shutdowns,
               boost::asio::any_io_executor executor)
      : context_(context), mailbox_(mailbox), asks_(asks), shutdowns_(shutdowns), executor_(std::move(executor)) {}

  /// What the last look at the lead's inbox found, after it was taken in.
  void saw(const BoxSize& size) { size_ = size; }

  /// Deletes finished rows that are older than `limits.retention`, once an hour.
  void prune_now_and_then();

  /// True when it is worth while to take read entries out of the lead's inbox; at most once a minute.
  [[nodiscard]] bool is_compaction_due() const;
  /// Takes out of it what may leave it. `may_write` is asked again right before. True when the inbox was looked at: what
  /// came into it meanwhile has not been taken in.
  boost::asio::awaitable<bool> compact(std::function<bool()> may_write);

  /// Since the start, for `status`.
  struct Compacted {
    std::size_t entries = 0;
    EpochMs last_ms = 0;  // 0: never
  };
  [[nodiscard]] const Compacted& compacted() const { return compacted_; }

 private:
  /// What the ledger has of read entries, by key.
  using Rows = std::unordered_map<std::string, handlers::ArchivedEntry>;

  /// The indexes of what may leave. `rows` are those of the attempts before, a moment ago: what was not owed then is
  /// not owed now. Nothing when the ledger cannot be read, or we may not write any more.
  boost::asio::awaitable<std::optional<std::vector<std::size_t>>> choose(std::span<const Item>, std::uint64_t bytes,
                                                                         const std::function<bool()>& may_write,
                                                                         Rows& rows);
  using OpenIds = std::vector<std::pair<std::string, std::string>>;  // a member's name and its id
  Result<std::optional<handlers::ArchivedEntry>> archived(const schema::MessageKey& key, const OpenIds& open) const;
  /// The same problem is told once.
  void tell(const std::string& problem);

  TeamState& context_;
  Mailbox& mailbox_;
  const Asks& asks_;
  const Shutdowns& shutdowns_;
  boost::asio::any_io_executor executor_;
  BoxSize size_;
  Every prune_{std::chrono::hours(1)};
  SteadyTime compact_from_{};  // not before
  std::string problem_;
  Compacted compacted_;
};

}  // namespace inbox_poller::poller
