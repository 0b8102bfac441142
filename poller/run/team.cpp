#include "poller/run/team.hpp"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <span>
#include <utility>

#include "poller/mailbox/claude/claude_mailbox.hpp"
#include "poller/run/pause.hpp"
#include "schema/envelope.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t big_file = std::uint64_t{1} << 20;  // read on the pool from here on
constexpr int reads_a_poll = 4;                             // a torn file is looked at this often before the next poll
constexpr int mark_rounds = 20;
constexpr std::size_t marks_at_once = 64;
constexpr std::chrono::hours prune_every{1};

std::unique_ptr<Mailbox> open_mailbox(Services& services, const config::TeamConfig& config, const std::string& name) {
  switch (config.team.transport) {
    case config::Transport::claude:
      return std::make_unique<ClaudeMailbox>(services.files, services.clock, config.team.root + "/" + name, name,
                                             config.limits);
  }
  std::abort();
}

std::string_view state_name(ReadOutcome outcome) {
  switch (outcome) {
    case ReadOutcome::document: return "ok";
    case ReadOutcome::missing: return "missing";
    case ReadOutcome::empty: return "empty";
    case ReadOutcome::torn: return "torn";
    case ReadOutcome::not_regular: return "not_regular";
    case ReadOutcome::too_large: return "too_large";
    case ReadOutcome::lock_held: return "locked";
    case ReadOutcome::fault: return "fault";
  }
  std::abort();
}

bool may_pass_by_itself(ReadOutcome outcome) {
  return outcome == ReadOutcome::torn || outcome == ReadOutcome::empty || outcome == ReadOutcome::lock_held;
}

}  // namespace

Team::Team(Services& services, const config::TeamConfig& config, std::string name)
    : services_(services),
      context_(name, config, services.home, services.ledger, services.telemetry, services.clock),
      mailbox_(open_mailbox(services, config, name)),
      asks_(context_),
      intake_(context_, asks_),
      outbox_(context_, *mailbox_),
      courier_(context_, services.files),
      timer_(services.executor) {}

Status Team::restore() {
  static_cast<void>(
      mailbox_->inboxes());  // the first look also clears away what a killed predecessor left half written
  if (auto restored = context_.restore(); !restored) return restored;
  if (auto restored = asks_.restore(); !restored) return restored;
  if (auto restored = outbox_.restore(); !restored) return restored;
  return courier_.restore();
}

asio::awaitable<Team::Polled> Team::poll() {
  auto roster = mailbox_->roster();
  if (roster) {
    roster_problem_.clear();
    has_roster_ = true;
    static_cast<void>(context_.adopt(std::move(*roster)));  // a failing ledger is reported there; found again next time
  } else if (roster.error().code == "roster.missing") {
    co_return Polled::no_team;
  } else {
    if (roster_problem_ != roster.error().message)
      services_.telemetry.emit(Event::roster_unreadable, {{"team", context_.name}, {"reason", roster.error().message}});
    roster_problem_ = roster.error().message;
    if (!has_roster_) co_return Polled::served;  // nobody to answer to yet; the inbox waits
  }

  const auto glance = mailbox_->glance(context_.lead);
  if (glance.glance == Glance::missing) {
    report(ReadOutcome::missing, "");
  } else if (glance.glance == Glance::changed || must_read_) {
    auto result = co_await read_patiently(glance.size);
    report(result.outcome, result.detail);
    const auto seen = std::hash<std::string_view>{}(result.document.bytes());
    if (!may_pass_by_itself(result.outcome) || seen != torn_bytes_) torn_polls_ = 0;  // other damage is a new case
    if (may_pass_by_itself(result.outcome)) ++torn_polls_;
    torn_bytes_ = seen;
    if (result.outcome == ReadOutcome::document) {
      co_await take_in(std::move(result));
    } else if (result.outcome == ReadOutcome::torn && torn_polls_ == context_.config.limits.torn_polls) {
      quarantine_torn(result);
    }
  }

  asks_.settle();
  courier_.settle();
  co_await outbox_.run();
  locks_ = mailbox_->lock_statistics();
  prune_now_and_then();
  co_return Polled::served;
}

asio::awaitable<ReadResult> Team::read_once(std::uint64_t size, ReadMode mode) {
  if (size < big_file) co_return mailbox_->read(context_.lead, mode);
  auto work = [this, mode] { return mailbox_->read(context_.lead, mode); };
  co_return co_await offload(services_.pool, std::move(work));
}

asio::awaitable<ReadResult> Team::read_patiently(std::uint64_t size) {
  ReadResult result;
  for (int attempt = 0; attempt < reads_a_poll; ++attempt) {
    if (attempt > 0) co_await pause_jittered(milliseconds(15), milliseconds(35));
    // The last look is under the lock: an honest writer is then certainly not in the middle of it.
    const auto mode = attempt + 1 < reads_a_poll ? ReadMode::unlocked : ReadMode::under_lock;
    result = co_await read_once(size, mode);
    if (!may_pass_by_itself(result.outcome)) break;
  }
  co_return result;
}

asio::awaitable<void> Team::take_in(ReadResult result) {
  std::vector<std::size_t> to_mark;
  if (!intake_.take(result.document, to_mark)) {
    must_read_ = true;
    co_return;  // not committed, so not ours: nothing is marked
  }
  must_read_ = intake_.left_out();
  if (!to_mark.empty() && !co_await mark(result.document, std::move(to_mark))) must_read_ = true;
}

asio::awaitable<bool> Team::mark(const schema::InboxDocument& document, std::vector<std::size_t> indexes) {
  // A few at a time, with a pause between, so that writers who wait for the lock get their turn.
  bool all = true;
  for (std::span<const std::size_t> rest(indexes); all && !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), marks_at_once));
    rest = rest.subspan(some.size());
    all = co_await mark_some(document, some);
    if (!rest.empty()) co_await pause_jittered(milliseconds(1), milliseconds(4));
  }
  co_return all;
}

asio::awaitable<bool> Team::mark_some(const schema::InboxDocument& document, std::span<const std::size_t> indexes) {
  WriteResult result;
  for (int round = 0; round < mark_rounds; ++round) {
    if (round > 0) co_await pause_jittered(milliseconds(3), milliseconds(25));
    result = mailbox_->mark_read(context_.lead, document, indexes);
    if (result.outcome != WriteOutcome::lock_held) break;
  }
  // A lock that was taken over or came to nothing is worth a line, also where we succeeded.
  if (!result.detail.empty() && mark_detail_ != result.detail)
    services_.telemetry.emit(Event::inbox_lock_foreign,
                             {{"team", context_.name}, {"inbox", context_.lead}, {"reason", result.detail}});
  mark_detail_ = result.detail;
  switch (result.outcome) {
    case WriteOutcome::done:
    case WriteOutcome::already_there:
      if (result.marked > 0)
        services_.telemetry.emit(
            Event::message_marked,
            {{"team", context_.name}, {"inbox", context_.lead}, {"count", std::to_string(result.marked)}});
      co_return true;
    case WriteOutcome::lock_foreign:
    case WriteOutcome::refused:
    case WriteOutcome::changed:  // new bytes: the next poll reads them and finds the same entries in the ledger
    case WriteOutcome::lock_held:
    case WriteOutcome::missing:
    case WriteOutcome::fault: co_return false;
  }
  std::abort();
}

void Team::quarantine_torn(const ReadResult& result) {
  const auto kept = services_.quarantine.keep(context_.name, context_.lead, result.document.bytes());
  if (!kept) {
    services_.telemetry.emit(Event::daemon_fault,
                             {{"team", context_.name}, {"inbox", context_.lead}, {"reason", kept.error().message}});
    return;
  }
  services_.telemetry.emit(Event::inbox_quarantined, {{"team", context_.name},
                                                      {"inbox", context_.lead},
                                                      {"path", *kept},
                                                      {"reason", result.detail},
                                                      {"count", std::to_string(result.document.entries().size())}});
  // The file stays as it is; what stands complete before the damage is taken in. Nothing in a damaged file is marked.
  std::vector<std::size_t> not_marked;
  static_cast<void>(intake_.take(result.document, not_marked));
}

void Team::report(ReadOutcome outcome, const std::string& detail) {
  const std::string state(state_name(outcome));
  if (state == report_.state) {
    if (outcome == ReadOutcome::document) return;
    report_.detail = detail;
    return;
  }
  const bool fine =
      outcome == ReadOutcome::document || outcome == ReadOutcome::missing || outcome == ReadOutcome::empty;
  const bool first_and_fine = report_.state == InboxReport().state && outcome == ReadOutcome::document;
  if (!first_and_fine)
    services_.telemetry.emit(fine ? Event::inbox_state : Event::inbox_unreadable, {{"team", context_.name},
                                                                                   {"inbox", context_.lead},
                                                                                   {"path", inbox_path()},
                                                                                   {"old", report_.state},
                                                                                   {"new", state},
                                                                                   {"reason", detail}});
  report_ = {state, detail};
}

void Team::prune_now_and_then() {
  const auto now = services_.clock.steady();
  if (pruned_ && now - *pruned_ < prune_every) return;
  // Only with the whole inbox in view is it known which messages may come back.
  if (report_.state != state_name(ReadOutcome::document) || must_read_) return;
  pruned_ = now;
  const auto cutoff = services_.clock.wall_ms() - context_.config.limits.retention.count();
  const auto keep = [this](const schema::MessageKey& key) { return intake_.in_inbox(key); };
  const auto gone = services_.ledger.prune(context_.name, cutoff, keep);
  if (gone && *gone > 0)
    services_.telemetry.emit(Event::ledger_pruned, {{"team", context_.name}, {"count", std::to_string(*gone)}});
}

asio::awaitable<void> Team::wait() {
  if (!std::exchange(poked_, false)) {
    timer_.expires_after(context_.config.team.poll_interval);
    boost::system::error_code cancelled;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    poked_ = false;
  }
}

void Team::poke() {
  poked_ = true;
  timer_.cancel();
}

Result<schema::MessageKey> Team::send(const std::string& to, const std::string& text, const std::string& summary) {
  const auto* member = context_.roster.find(to);
  if (member == nullptr || to == context_.lead) {
    std::string names;
    for (const auto& known : context_.roster.members)
      if (known.name != context_.lead) names += (names.empty() ? "" : ", ") + known.name;
    return Error{"member.unknown", "team " + context_.name + " has no worker called \"" + to +
                                       "\"; its workers are: " + (names.empty() ? "none" : names)};
  }
  schema::OutgoingEnvelope envelope;
  envelope.from = context_.lead;
  envelope.text = text;
  envelope.summary = summary;
  const auto now = services_.clock.wall_ms();
  envelope.timestamp = schema::iso_timestamp(now);
  OutboxRow row;
  row.team = context_.name;
  row.inbox = to;
  row.created_ms = now;
  row.next_ms = now;
  const auto committed = context_.commit([&](EventBatch&) -> Status {
    const auto batch = services_.ledger.next_batch();
    if (!batch) return batch.error();
    row.batch = *batch;
    // Two equal texts to one worker in the same millisecond are one message: that is how peers see it.
    envelope.msg_id = schema::uuid_from(context_.name + "\n" + to + "\n" + std::to_string(*batch));
    row.key = schema::make_message_key({context_.name, to}, envelope.from, envelope.timestamp, text, 0);
    row.entry = schema::encode_envelope(envelope);
    return services_.ledger.enqueue(row);
  });
  if (!committed) return committed.error();
  poke();
  return row.key;
}

std::string Team::inbox_path() const {
  return context_.config.team.root + "/" + context_.name + "/inboxes/" + context_.lead + ".json";
}

}  // namespace inbox_poller::poller
