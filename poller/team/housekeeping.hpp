// What keeps one team small when nothing else is to do: old rows leave the ledger, and read entries that the ledger
// has leave the lead's inbox. Called within a poll, after a reading that left nothing undone. Source:
// docs/adr/0014-compaction-of-the-leads-inbox.md.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "handlers/compaction.hpp"
#include "poller/context/team_context.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/team/asks.hpp"
#include "poller/team/intake.hpp"
#include "poller/team/shutdowns.hpp"
#include "poller/team/witness.hpp"

namespace inbox_poller::poller {

class Housekeeping {
 public:
  Housekeeping(TeamContext& context, ArraysMailbox& mailbox, const Intake& intake, const Asks& asks,
               const Shutdowns& shutdowns, Witness& witness, boost::asio::any_io_executor executor,
               boost::asio::thread_pool& pool)
      : context_(context),
        mailbox_(mailbox),
        intake_(intake),
        asks_(asks),
        shutdowns_(shutdowns),
        witness_(witness),
        executor_(std::move(executor)),
        pool_(pool) {}

  /// What the last reading of the lead's inbox found, after it was taken in.
  void saw(const ReadResult&);

  /// Deletes finished rows that are older than `limits.retention`, once an hour.
  void prune_now_and_then();

  /// Takes out of the lead's inbox what may leave it, at most once a minute. `may_write` is asked again right before.
  /// True when the inbox was looked at: what came into it meanwhile has not been taken in.
  boost::asio::awaitable<bool> compact_now_and_then(std::function<bool()> may_write);

  /// Since the start, for `status`.
  struct Compacted {
    std::size_t entries = 0;
    EpochMs last_ms = 0;  // 0: never
  };
  [[nodiscard]] const Compacted& compacted() const { return compacted_; }

 private:
  enum class Attempt { done, nothing_to_gain, try_again, gave_up };
  /// What the ledger has of read entries, by key.
  using Rows = std::unordered_map<std::string, handlers::ArchivedEntry>;

  /// `rows` are those of the attempts before, a moment ago: what was not owed then is not owed now.
  boost::asio::awaitable<Attempt> compact(const std::function<bool()>& may_write, Rows& rows);
  /// The entries in the order of the document. Empty when the ledger cannot be read.
  boost::asio::awaitable<std::optional<std::vector<handlers::InboxItem>>> look_up(const schema::InboxDocument&, Rows&);
  Result<std::optional<handlers::ArchivedEntry>> archived(const schema::MessageKey& key,
                                                          const std::vector<std::string>& open) const;
  boost::asio::awaitable<WriteResult> remove(const schema::InboxDocument&, const std::vector<std::size_t>& leaving);
  Attempt settle(const WriteResult&, const schema::InboxDocument&, const std::vector<std::size_t>& leaving);
  /// The same problem is told once.
  void tell(const std::string& problem);

  TeamContext& context_;
  ArraysMailbox& mailbox_;
  const Intake& intake_;
  const Asks& asks_;
  const Shutdowns& shutdowns_;
  Witness& witness_;
  boost::asio::any_io_executor executor_;
  boost::asio::thread_pool& pool_;
  std::size_t read_entries_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::optional<SteadyTime> pruned_;
  SteadyTime compact_from_{};  // not before
  KeySet gone_;                // left the inbox since rows were last pruned
  std::string problem_;
  Compacted compacted_;
};

}  // namespace inbox_poller::poller
