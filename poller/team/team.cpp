#include "poller/team/team.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <span>
#include <utility>

#include "poller/pause.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::Right;
using std::chrono::milliseconds;

constexpr std::uint64_t big_file = std::uint64_t{2} << 20;  // read on the pool from here on
constexpr int reads_a_poll = 4;                             // a torn file is looked at this often before the next poll
constexpr int mark_rounds = 20;
constexpr std::size_t taken_at_once = 500;  // entries in one transaction
constexpr std::size_t marks_at_once = 64;
// From one hinted poll to the next: half as much again as the last one took. A burst is a few big polls, a flood of
// hints no busy loop, and what is written during a poll does not wait for long behind it.
constexpr milliseconds shortest_hinted_interval{1};
constexpr milliseconds longest_hinted_interval{50};

bool may_pass_by_itself(ReadOutcome outcome) {
  return outcome == ReadOutcome::torn || outcome == ReadOutcome::empty || outcome == ReadOutcome::lock_held;
}

}  // namespace

Team::Team(Services& services, const config::TeamConfig& config, std::string name)
    : services_(services),
      context_(name, config, services.home, services.ledger, services.telemetry, services.clock),
      mailbox_(std::make_unique<ArraysMailbox>(services.files, services.clock, config.team.root + "/" + name, name,
                                               config.limits, config.team.task_folder(name))),
      members_(*mailbox_),
      notifier_(context_),
      asks_(context_, notifier_),
      intake_(context_, services_.commits, asks_, shutdowns_, outbox_, handlers::Place::lead),
      outbox_(context_, *mailbox_, services_.commits),
      panes_(config.shutdown.tmux, services.processes),
      lead_panes_(config.delivery.tmux.command, services.processes),
      delivery_(context_, services.files, lead_panes_),
      shutdowns_(context_, *mailbox_, members_, panes_, services.processes),
      worker_calls_(
          context_, [this](std::string id) { return panes_.find(std::move(id)); }, services.processes),
      stops_(context_, asks_, shutdowns_),
      orders_(context_),
      plan_reminders_(context_),
      lookout_(context_, *mailbox_, asks_, outbox_),
      housekeeping_(context_, *mailbox_, intake_, asks_, shutdowns_, witness_, services.executor, services.pool),
      timer_(services.executor) {
  context_.workers = &services.workers;
}

Status Team::restore() {
  static_cast<void>(
      mailbox_->glances());  // the first look also clears away what a killed predecessor left half written
  if (auto restored = context_.restore(); !restored) return restored;
  auto kept = services_.ledger.rosters().find(context_.name);
  if (!kept) return kept.error();
  if (*kept) members_.remember_roster({std::move((*kept)->bytes), (*kept)->file});
  if (auto restored = asks_.restore(); !restored) return restored;
  if (auto restored = notifier_.restore(); !restored) return restored;
  if (auto restored = shutdowns_.restore(); !restored) return restored;
  if (auto restored = stops_.restore(); !restored) return restored;
  if (auto restored = orders_.restore(); !restored) return restored;
  if (auto restored = outbox_.restore(); !restored) return restored;
  return delivery_.restore();
}

asio::awaitable<Team::Polled> Team::poll() {
  if (const auto end = look_at_roster()) co_return *end;
  if (context_.may(Right::read_inbox)) co_await look_at_lead();
  co_await look_at_workers();
  asks_.settle();
  delivery_.settle();
  if (context_.may(Right::take))
    for (const auto& alias : lookout_.aliases()) co_await look_at_alias(alias);
  if (context_.may(Right::order)) {
    orders_.settle();
    plan_reminders_.settle();
  }
  if (context_.may(Right::shut_down)) {
    co_await stops_.settle();
    co_await shutdowns_.settle();
    for (const auto& one : shutdowns_.take_ended())
      asks_.ended(one.member, one.changed_ms, one.member + " was ended (" + one.request_id + ")");
  }
  if (context_.may(Right::write)) co_await outbox_.run();
  // What waited for the effects of its batch, or for what was decided. Nobody's row changed: no reason to look.
  if (std::exchange(changes_, services_.ledger.changes()) != services_.ledger.changes()) chat_.raise();
  locks_ = mailbox_->lock_statistics();
  // Only with the whole inbox in view is it known which messages may come back, and which may go.
  if (report_.state == to_string(ReadOutcome::document) && !must_read_) {
    housekeeping_.prune_now_and_then();
    std::function<bool()> may_write = [this] { return is_alone(); };
    const bool looked = co_await housekeeping_.compact_now_and_then(std::move(may_write));
    must_read_ = must_read_ || looked;
  }
  co_return Polled::served;
}

std::optional<Team::Polled> Team::look_at_roster() {
  if (roster_adopted_ && !members_.roster_changed()) {
    keep_roster(members_.roster_copy());
    return std::nullopt;
  }
  auto roster = members_.roster();
  roster_adopted_ = false;
  if (roster) {
    roster_report_ = {"ok", {}};
    roster_problem_.clear();
    has_roster_ = true;
    roster_adopted_ = context_.adopt(std::move(*roster)).ok();  // a failing ledger is reported there
    keep_roster(members_.roster_copy());
    heed_lead_process();
    return std::nullopt;
  }
  const auto& [code, problem] = roster.error();
  if (code == "roster.missing") {
    keep_roster({});
    return Polled::no_team;
  }
  if (std::exchange(roster_problem_, problem) != problem)
    services_.telemetry.emit(Event::roster_unreadable, {{"team", context_.name}, {"reason", problem}});
  roster_report_ = {code == "roster.empty" ? "empty" : "unreadable", problem};
  do_without_roster();
  if (!has_roster_) return Polled::served;  // nobody to answer to yet; the inbox waits
  return std::nullopt;
}

asio::awaitable<void> Team::look_at_lead() {
  if (std::exchange(lead_, context_.lead) != context_.lead) mailbox_->forget(context_.lead);
  const auto glance = mailbox_->glance(context_.lead);
  if (glance.glance == Glance::missing) {
    report(ReadOutcome::missing, "");
    witness_.forget();
    mailbox_->forget(context_.lead);
    intake_.missing();
    co_return;
  }
  if (glance.glance != Glance::changed && !must_read_) co_return;
  auto result = co_await read_patiently(context_.lead, glance.size);
  report(result.outcome, result.detail);
  const bool may_pass = may_pass_by_itself(result.outcome);
  const auto seen = may_pass ? std::hash<std::string_view>{}(result.document.bytes()) : std::size_t{0};
  if (!may_pass || seen != torn_bytes_) torn_polls_ = 0;  // other damage is a new case
  if (may_pass) ++torn_polls_;
  torn_bytes_ = seen;
  if (result.outcome == ReadOutcome::not_regular) {
    witness_.forget();
    mailbox_->forget(context_.lead);
  }
  if (result.outcome == ReadOutcome::document) {
    witness(result);
    if (context_.may(Right::read_inbox)) co_await take_in(std::move(result));
  } else if (result.outcome == ReadOutcome::torn && torn_polls_ == context_.config.limits.torn_polls &&
             context_.may(Right::set_torn_aside)) {
    co_await quarantine_torn(result);
  }
}

asio::awaitable<void> Team::look_at_alias(std::string inbox) {
  const auto known = alias_intakes_.find(inbox);
  if (known == alias_intakes_.end()) mailbox_->forget(inbox);  // what others saw there is new here
  const auto glance = mailbox_->glance(inbox);
  if (glance.glance != Glance::changed) co_return;
  auto result = co_await read_patiently(inbox, glance.size);
  if (result.outcome != ReadOutcome::document) co_return;
  auto& intake =
      alias_intakes_.try_emplace(inbox, context_, services_.commits, asks_, shutdowns_, outbox_, handlers::Place::alias)
          .first->second;
  static_cast<void>(co_await take_windows(std::move(inbox), intake, result));
}

asio::awaitable<void> Team::look_at_workers() {
  for (const auto& [inbox, size] : lookout_.changed()) {
    auto result = co_await read_once(inbox, size, ReadMode::unlocked);
    lookout_.take(inbox, result);
  }
}

asio::awaitable<ReadResult> Team::read_once(std::string inbox, std::uint64_t size, ReadMode mode) {
  if (size < big_file) co_return mailbox_->read_news(inbox, mode);
  auto work = [this, inbox, mode] { return mailbox_->read_news(inbox, mode); };
  co_return co_await offload(services_.pool, std::move(work));
}

asio::awaitable<ReadResult> Team::read_patiently(std::string inbox, std::uint64_t size) {
  const bool may_lock = context_.may(Right::write);
  ReadResult result;
  for (int attempt = 0; attempt < reads_a_poll; ++attempt) {
    // A rename or a small write is over at once; whoever is still at it then gets more time.
    if (attempt > 0) co_await pause_jittered(attempt * milliseconds(2), attempt * attempt * milliseconds(5));
    // The last look is under the lock: an honest writer is then certainly not in the middle of it.
    const auto mode = attempt + 1 < reads_a_poll || !may_lock ? ReadMode::unlocked : ReadMode::under_lock;
    result = co_await read_once(inbox, size, mode);
    if (!may_pass_by_itself(result.outcome)) break;
  }
  co_return result;
}

asio::awaitable<void> Team::take_in(ReadResult result) {
  must_read_ = false;
  const bool all = co_await take_windows(context_.lead, intake_, result);
  must_read_ = must_read_ || !all || intake_.left_out();
  housekeeping_.saw(result);
}

/// Everything that is new in a reading, window by window. False when something was left undone.
asio::awaitable<bool> Team::take_windows(std::string inbox, Intake& intake, ReadResult& result) {
  const bool is_lead = &intake == &intake_;
  const bool whole = result.skipped == 0;
  bool all_marked = true;
  std::size_t known = 0;
  for (std::size_t i = 0; i < result.windows.size(); ++i) {
    std::vector<std::size_t> to_mark;
    if (!mailbox_->show(result, i)) co_return false;  // not there any more
    // Some at a time: other teams have their turn between two commits.
    Window some = result.windows[i];
    const std::size_t last = some.last;
    do {
      some.last = std::min(last, some.first + taken_at_once);
      const auto taken = co_await intake.take(inbox, result.document, some, to_mark);
      if (!taken) co_return false;  // not committed, so not ours: nothing is marked
      if (!to_mark.empty() && is_lead) {
        // Committed: who hands it over goes first, the flags can wait their turn.
        chat_.raise();
        co_await asio::post(services_.executor, asio::use_awaitable);
        // Before another lead the first answer at the worker counts, so it does not wait for a lock on the lead's
        // inbox.
        if (context_.may(Right::watch_lead) && context_.may(Right::write)) co_await outbox_.run();
      }
      some.first = some.last;
    } while (some.last < last);
    const bool marked = co_await mark(inbox, result.document, to_mark);
    for (const auto index : to_mark) {
      const auto& entry = result.document.entries()[index];
      if (is_lead && (marked || entry.read == schema::ReadFlag::read)) witness_.marked_by_us(entry.key);
      if (is_lead && marked && context_.may(Right::watch_lead)) marked_[entry.key.value] = services_.clock.steady();
    }
    all_marked = all_marked && marked;
    known = mailbox_->remember(inbox, result, i);
  }
  intake.finish(result.document, known, whole);
  if (is_lead) witness_.leave_to_mailbox(result.document, known);
  co_return all_marked;
}

asio::awaitable<bool> Team::mark(std::string inbox, schema::InboxDocument& document, std::vector<std::size_t> indexes) {
  // What cannot be marked in place comes last and all at once: the file is replaced for it.
  const auto others = std::stable_partition(indexes.begin(), indexes.end(),
                                            [&](std::size_t index) { return document.can_mark_in_place(index); });
  auto in_place = static_cast<std::size_t>(others - indexes.begin());
  bool all = true;
  for (std::span<const std::size_t> rest(indexes); all && !rest.empty();) {
    // To put a file in the place of another may undo what a peer without a lock writes at that very moment. However
    // often such a one wakes us, it happens no more often than the timer would have it.
    if (in_place == 0) {
      const auto now = services_.clock.steady();
      if (replaced_ && now - *replaced_ < context_.config.team.poll_interval) co_return false;
      replaced_ = now;
    }
    // A few at a time, with a pause between, so that writers who wait for the lock get their turn.
    const auto some = rest.first(in_place > 0 ? std::min(in_place, marks_at_once) : rest.size());
    rest = rest.subspan(some.size());
    in_place -= std::min(in_place, some.size());
    all = co_await mark_some(inbox, document, some);
    for (const auto index : some)
      if (all) document.set_read(index);
    if (!rest.empty()) co_await pause_jittered(milliseconds(0), milliseconds(1));
  }
  co_return all;
}

asio::awaitable<bool> Team::mark_some(const std::string& inbox, const schema::InboxDocument& document,
                                      std::span<const std::size_t> indexes) {
  WriteResult result;
  for (int round = 0; round < mark_rounds; ++round) {
    if (round > 0) co_await pause_jittered(milliseconds(3), milliseconds(25));
    result = mailbox_->mark_read(inbox, document, indexes);
    if (result.outcome != WriteOutcome::lock_held) break;
  }
  // A lock that was taken over or came to nothing is worth a line, also where we succeeded.
  if (!result.detail.empty() && mark_detail_ != result.detail)
    services_.telemetry.emit(Event::inbox_lock_foreign,
                             {{"team", context_.name}, {"inbox", inbox}, {"reason", result.detail}});
  mark_detail_ = result.detail;
  switch (result.outcome) {
    case WriteOutcome::done:
    case WriteOutcome::already_there:
      if (result.marked > 0)
        services_.telemetry.emit(Event::message_marked,
                                 {{"team", context_.name}, {"inbox", inbox}, {"count", std::to_string(result.marked)}});
      co_return true;
    case WriteOutcome::changed:  // new bytes: the next poll reads them and finds the same entries in the ledger
    case WriteOutcome::lock_foreign:
    case WriteOutcome::refused:
    case WriteOutcome::lock_held:
    case WriteOutcome::missing:
    case WriteOutcome::fault: co_return false;
  }
  std::abort();
}

void Team::reconfigure(const config::TeamConfig& config) {
  context_.reconfigure(config);
  roster_adopted_ = false;
  lead_claim_.clear();
  poke();
}

void Team::retire() {
  retired_ = true;
  delivery_.recall();
  poke();
}

asio::awaitable<void> Team::quarantine_torn(const ReadResult& result) {
  const auto kept = services_.quarantine.keep(context_.name, context_.lead, result.document.bytes());
  if (kept)
    services_.telemetry.emit(Event::inbox_quarantined, {{"team", context_.name},
                                                        {"inbox", context_.lead},
                                                        {"path", *kept},
                                                        {"reason", result.detail},
                                                        {"count", std::to_string(result.document.entries().size())}});
  else
    services_.telemetry.emit(Event::daemon_fault,
                             {{"team", context_.name}, {"inbox", context_.lead}, {"reason", kept.error().message}});
  // The file stays as it is; what stands complete before the damage is taken in. Nothing in a damaged file is marked.
  std::vector<std::size_t> not_marked;
  const auto taken = co_await intake_.take(context_.lead, result.document, result.windows.front(), not_marked);
  if (taken) intake_.finish(result.document, 0, true);
}

void Team::report(ReadOutcome outcome, const std::string& detail) {
  const std::string state(to_string(outcome));
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

asio::awaitable<void> Team::wait() {
  using Timer = asio::steady_timer;
  const auto due = in_step(context_.config.team.poll_interval);
  const auto took = Timer::clock_type::now() - polled_at_;
  const auto hinted =
      polled_at_ + std::clamp<Timer::duration>(took + took / 2, shortest_hinted_interval, longest_hinted_interval);
  for (;;) {
    const auto until = hinted_ ? std::min(due, hinted) : due;
    if (poked_ || Timer::clock_type::now() >= until) break;
    timer_.expires_at(until);
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  poked_ = false;
  hinted_ = false;
  polled_at_ = Timer::clock_type::now();
}

void Team::poke() {
  poked_ = true;
  timer_.cancel();
  chat_.raise();
}

void Team::hint() {
  hinted_ = true;
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
  schema::Message message;
  message.from = context_.lead;
  message.text = text;
  message.summary = summary;
  const auto now = services_.clock.wall_ms();
  message.timestamp = schema::iso_timestamp(now);
  OutboxRow row;
  row.team = context_.name;
  row.inbox = schema::inbox_name(to);
  row.created_ms = now;
  row.next_ms = now;
  const auto committed = context_.commit([&](EventBatch&) -> Status {
    const auto batch = services_.ledger.next_batch();
    if (!batch) return batch.error();
    row.batch = *batch;
    // Two equal texts to one worker in the same millisecond are one message: that is how peers see it.
    message.id = schema::uuid_from(context_.name + "\n" + to + "\n" + std::to_string(*batch));
    row.key = schema::make_message_key({context_.name, row.inbox}, message.from, message.timestamp, text, 0);
    row.message = message;
    return services_.ledger.outbox().enqueue(row);
  });
  if (!committed) return committed.error();
  poke();
  return row.key;
}

Status Team::heard_of(const std::string& member, const std::string& state, const std::string& task) {
  const auto known = context_.members.find(member);
  if (known == context_.members.end() || !known->second.present || member == context_.lead) return Done{};
  MemberRow row = known->second;
  row.state = state;
  row.detail = task.empty() ? "" : "task " + task;
  if (!task.empty()) row.task = task;
  row.last_seen_ms = services_.clock.wall_ms();
  const auto committed = context_.commit([&](EventBatch&) { return services_.ledger.members().put(row); });
  if (committed) known->second = std::move(row);
  return committed;
}

std::string Team::inbox_path() const {
  return context_.config.team.root + "/" + context_.name + "/inboxes/" + context_.lead + ".json";
}

}  // namespace inbox_poller::poller
