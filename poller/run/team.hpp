// One team's service: a poll of its lead's inbox from the first look to the last effect, and the push of chat beside
// it. Order within a poll (docs/architecture.md): look, read, take in (one commit), mark read, settle deadlines, carry
// out effects.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <optional>
#include <span>
#include <string>

#include "poller/delivery/courier.hpp"
#include "poller/effects/outbox.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/run/asks.hpp"
#include "poller/run/intake.hpp"
#include "poller/run/quarantine.hpp"
#include "poller/run/team_context.hpp"

namespace inbox_poller::poller {

/// What all teams share. Outlives every Team.
struct Services {
  FileSystem& files;
  Ledger& ledger;
  Telemetry& telemetry;
  const Clock& clock;
  Quarantine& quarantine;
  boost::asio::any_io_executor executor;  // the decision thread
  boost::asio::thread_pool& pool;         // for reads of big files
  std::string home;
};

/// How the lead's inbox looked at the last poll, for `status` and the log.
struct InboxReport {
  std::string state = "not polled yet";  // ok, missing, empty, torn, not_regular, too_large, locked, fault
  std::string detail;
};

class Team {
 public:
  Team(Services& services, const config::TeamConfig& config, std::string name);

  /// Picks up everything that was open before a restart.
  Status restore();

  enum class Polled { served, no_team };
  /// One poll. `no_team` when the folder is not a team (any more).
  boost::asio::awaitable<Polled> poll();

  /// Pushes queued chat to the configured sinks while the gate is open.
  boost::asio::awaitable<void> deliver() { return courier_.push(); }

  /// Waits for the poll interval or until somebody pokes.
  boost::asio::awaitable<void> wait();
  /// Something is to be done now (a person answered, the lead went idle): do not wait for the interval.
  void poke();

  /// Puts a message of ours into a member's inbox by way of the ledger. The recipient must be a member.
  Result<schema::MessageKey> send(const std::string& to, const std::string& text, const std::string& summary);

  TeamContext& context() { return context_; }
  Asks& asks() { return asks_; }
  Courier& courier() { return courier_; }
  [[nodiscard]] const InboxReport& inbox_report() const { return report_; }
  [[nodiscard]] std::string inbox_path() const;
  [[nodiscard]] const LockStatistics& locks() const { return locks_; }

 private:
  boost::asio::awaitable<ReadResult> read_patiently(std::uint64_t size);
  boost::asio::awaitable<ReadResult> read_once(std::uint64_t size, ReadMode mode);
  boost::asio::awaitable<void> take_in(ReadResult result);
  boost::asio::awaitable<bool> mark(const schema::InboxDocument& document, std::vector<std::size_t> indexes);
  boost::asio::awaitable<bool> mark_some(const schema::InboxDocument& document, std::span<const std::size_t> indexes);
  void quarantine_torn(const ReadResult&);
  void report(ReadOutcome, const std::string& detail);
  void prune_now_and_then();

  Services& services_;
  TeamContext context_;
  std::unique_ptr<Mailbox> mailbox_;
  Asks asks_;
  Intake intake_;
  Outbox outbox_;
  Courier courier_;
  boost::asio::steady_timer timer_;
  bool poked_ = false;
  bool must_read_ = true;  // something was left undone: read although the file does not change
  std::uint32_t torn_polls_ = 0;
  std::size_t torn_bytes_ = 0;  // a hash of what was read then
  std::string roster_problem_;
  bool has_roster_ = false;
  InboxReport report_;
  std::string mark_detail_;
  LockStatistics locks_;
  std::optional<SteadyTime> pruned_;
};

}  // namespace inbox_poller::poller
