#include "poller/team/team.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <span>
#include <utility>

#include "handlers/orders.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::Right;
using std::chrono::milliseconds;

// Messages in one transaction. Where many wait, each wait for the disk costs more than what it holds up for others.
constexpr std::size_t taken_at_once = 500;
constexpr std::size_t taken_of_many = 2000;
// From one hinted poll to the next: half as much again as the last one took. A burst is a few big polls, a flood of
// hints no busy loop, and what is written during a poll does not wait for long behind it.
constexpr milliseconds shortest_hinted_interval{1};
constexpr milliseconds longest_hinted_interval{50};
constexpr std::chrono::seconds whole_poll_every{5};  // where nothing changes but the time
constexpr std::chrono::minutes all_at_first{1};  // every box at every poll: who trusts the hints has seen them come

std::unique_ptr<HostService> open_hosts(Services& services, TeamContext& context, const OpenTeam& boxes) {
  if (!context.config.hosts.is_set()) return nullptr;
  auto exchange = services.open_exchange
                      ? services.open_exchange(context.config)
                      : Result<std::unique_ptr<Exchange>>(Error{"exchange.missing", "this build knows no engine between hosts"});
  if (exchange)
    return std::make_unique<HostService>(context, boxes.mailbox, boxes.members, *std::move(exchange), "");
  return std::make_unique<HostService>(context, boxes.mailbox, boxes.members, nullptr, exchange.error().message);
}

}  // namespace

Team::Team(Services& services, const config::TeamConfig& config, const std::string& name)
    : Team(services, config, name,
           system_of(config).open(services.files, services.clock, services.pool, config, name, services.state_dir)) {}

Team::Team(Services& services, const config::TeamConfig& config, std::string name, OpenTeam boxes)
    : services_(services),
      context_(name, config, services.home, services.ledger, services.telemetry, services.clock),
      boxes_(std::move(boxes)),
      hosts_(open_hosts(services, context_, boxes_)),
      mailbox_(hosts_ ? hosts_->mailbox() : *boxes_.mailbox),
      members_(hosts_ ? hosts_->members() : *boxes_.members),
      notifier_(context_),
      asks_(context_, notifier_),
      intake_(context_, mailbox_, services_.commits, asks_, shutdowns_, outbox_, delivery_, handlers::Place::lead),
      between_(context_, mailbox_, services_.commits, asks_, shutdowns_, outbox_, delivery_, handlers::Place::worker),
      outbox_(context_, mailbox_, services_.commits),
      panes_(config.shutdown.tmux, services.processes),
      lead_panes_(config.delivery.tmux.command, services.processes),
      delivery_(context_, services.files, lead_panes_),
      shutdowns_(context_, mailbox_, members_, panes_, services.processes),
      worker_calls_(
          context_, [this](std::string id) { return panes_.find(std::move(id)); }, services.processes),
      stops_(context_, asks_, shutdowns_),
      orders_(context_),
      plan_reminders_(context_),
      task_keeper_(context_, boxes_.tasks.get()),
      worker_boxes_(context_, mailbox_, asks_, outbox_),
      housekeeping_(context_, mailbox_, asks_, shutdowns_, services.executor),
      timer_(services.executor),
      lead_session_(services.files, services.processes, services.clock, config.team.session_folder()) {
  context_.workers = &services.workers;
  context_.changes = &services.changes;
  mailbox_.on_news([this] { hint(); });
  if (!hosts_) return;
  host_ends_ = std::make_unique<HostEnds>(context_, *hosts_, shutdowns_);
  handover_ = std::make_unique<Handover>(context_, *hosts_, asks_);
  context_.standing = hosts_->standing();
  context_.guard = [this] {
    return context_.standing.stance == handlers::Stance::leader ? hosts_->may_decide() : Status(Done{});
  };
  hosts_->on_news([this] { hint(); });
}

Status Team::restore() {
  static_cast<void>(mailbox_.news());  // the first look also clears away what a killed predecessor left half written
  TRY(context_.restore());
  if (hosts_)
    TRY(hosts_->restore());
  TRY(auto kept, services_.ledger.rosters().find(context_.name));
  if (kept) members_.remember_roster({std::move(kept->bytes), kept->file});
  TRY(asks_.restore());
  TRY(notifier_.restore());
  TRY(shutdowns_.restore());
  TRY(stops_.restore());
  TRY(orders_.restore());
  TRY(outbox_.restore());
  return delivery_.restore();
}

asio::awaitable<Team::Polled> Team::poll() {
  // What an earlier poll has committed may be marked by this one without a commit of its own.
  if (const auto there = services_.ledger.still_there(); !there) {
    context_.heard_of_ledger(there);
    co_return Polled::served;
  }
  co_await mailbox_.refresh();
  const auto now = services_.clock.steady();
  const bool all = std::exchange(look_at_all_, false) || !hears_changes_ || now - began_ < all_at_first;
  roster_rests_ = true;
  mailbox_.rely_on_hints(!all);
  if (const auto end = look_at_roster()) co_return *end;
  heed_hosts();
  heed_lead_session();
  const auto boxes = mailbox_.news();
  // Then what is judged by roster, boxes and ledger would be judged as it was.
  const bool rests = !all && roster_rests_ && boxes && mailbox_.rests() && !must_read_ &&
                     changes_ == services_.ledger.changes() && now < whole_poll_at_;
  if (!rests) whole_poll_at_ = now + whole_poll_every;
  if (hosts_) {
    handover_->settle();
    co_await host_ends_->settle();
  }
  if (hosts_ && boxes && context_.may(Right::carry)) co_await hosts_->carry(handover_->owes_chat());
  if (context_.may(Right::read_inbox) && !rests) {
    co_await look_at_letters();
    // What was taken out of the box while another host led comes back as letters, and goes first.
    if (hosts_ && hosts_->letters_to_lead_wait())
      must_read_ = true;
    else
      co_await look_at_lead(boxes);
  }
  if (boxes && !rests) co_await look_at_workers(*boxes);  // otherwise the lead's inbox tells why
  asks_.settle();
  delivery_.settle();
  if (context_.may(Right::take) && !rests)
    for (const auto& alias : worker_boxes_.aliases()) co_await look_at_alias(alias, boxes);
  if (context_.may(Right::order) && !rests) {
    orders_.settle();
    plan_reminders_.settle();
  }
  if (context_.may(Right::shut_down) && !rests) co_await stops_.settle();
  if ((context_.may(Right::shut_down) || context_.may(Right::end_here)) && (!rests || shutdowns_.under_way())) {
    co_await shutdowns_.settle();
    for (const auto& one : shutdowns_.take_ended())
      if (context_.may(Right::answer_by_time)) asks_.ended(one.member, one.changed_ms, one.member + " was ended (" + one.request_id + ")");
  }
  if (context_.may(Right::write)) task_keeper_.settle();
  // Also while another host leads: what we had decided before is owed, and the other host's word for it is refused.
  if ((context_.may(Right::write) || context_.may(Right::carry)) && !outbox_.owes_nothing()) co_await outbox_.run();
  // What waited for the effects of its batch, or for what was decided. Nobody's row changed: no reason to look.
  if (std::exchange(changes_, services_.ledger.changes()) != services_.ledger.changes()) chat_.raise();
  contention_ = mailbox_.contention();
  // Only with the whole inbox in view is it known which messages may come back, and which may go.
  if (report_.state == to_string(BoxState::open) && !must_read_ && !rests) {
    housekeeping_.prune_now_and_then();
    std::function<bool()> may_write = [this] { return is_alone(); };
    const bool looked = co_await housekeeping_.compact_now_and_then(std::move(may_write));
    must_read_ = must_read_ || looked;
  }
  co_return Polled::served;
}

asio::awaitable<bool> Team::run_errands(std::function<bool()> given_up) {
  const bool asks = co_await notifier_.tell_next(given_up);
  const bool tasks = co_await task_keeper_.tell_next(std::move(given_up));
  co_return asks || tasks;
}

bool Team::something_waits() {
  if (notifier_.owes() || task_keeper_.owes()) return true;
  if (no_chat_at_ == services_.ledger.chat_changes()) return false;
  const auto queued = services_.ledger.deliveries().anything_queued(context_.name);
  const bool none = queued && !*queued;
  if (none) no_chat_at_ = services_.ledger.chat_changes();
  return !none;
}

std::optional<Team::Polled> Team::look_at_roster() {
  if (roster_adopted_ && !members_.roster_changed()) return std::nullopt;  // and it is kept
  roster_rests_ = false;
  auto roster = members_.roster();
  roster_adopted_ = false;
  if (roster) {
    roster_report_ = {"ok", {}};
    roster_problem_.clear();
    has_roster_ = true;
    roster_adopted_ = context_.adopt(std::move(*roster)).ok();  // a failing ledger is reported there
    keep_roster(members_.roster_copy());
    heed_lead_process();
    context_.changed(only(Area::workers) | only(Area::teams));
    return std::nullopt;
  }
  const auto& [code, problem] = roster.error();
  if (code == "roster.missing") {
    keep_roster({});
    return Polled::no_team;
  }
  if (std::exchange(roster_problem_, problem) != problem)
    services_.telemetry.emit(Event::roster_unreadable, {{"team", context_.name}, {"reason", problem}});
  if (roster_report_.detail != problem) context_.changed(only(Area::teams));
  roster_report_ = {code == "roster.empty" ? "empty" : "unreadable", problem};
  do_without_roster();
  if (!has_roster_) return Polled::served;  // nobody to answer to yet; the inbox waits
  return std::nullopt;
}

namespace {

const News* find_box(std::span<const News> boxes, const std::string& name) {
  const auto found = std::find_if(boxes.begin(), boxes.end(), [&](const News& one) { return one.box == name; });
  return found == boxes.end() ? nullptr : &*found;
}

}  // namespace

asio::awaitable<void> Team::look_at_lead(Boxes boxes) {
  if (std::exchange(lead_, context_.lead) != context_.lead) must_read_ = true;  // seen by the one before in passing
  const News* lead = boxes ? find_box(*boxes, context_.lead) : nullptr;
  if (boxes && lead == nullptr) {
    report(BoxState::missing, "");
    watched_.waiting = 0;
    watched_.oldest_waiting_ms = 0;
    intake_.missing();
    co_return;
  }
  if (lead != nullptr && !lead->changed && !must_read_) co_return;
  must_read_ = false;
  const bool all = co_await take_in(context_.lead, intake_);
  must_read_ = must_read_ || !all || intake_.left_out();
}

asio::awaitable<void> Team::look_at_alias(std::string box, Boxes boxes) {
  const News* alias = boxes ? find_box(*boxes, box) : nullptr;
  if (alias == nullptr || (alias_intakes_.contains(box) && !alias->changed)) co_return;
  auto& intake = alias_intakes_
                     .try_emplace(box, context_, mailbox_, services_.commits, asks_, shutdowns_, outbox_, delivery_,
                                  handlers::Place::alias)
                     .first->second;
  static_cast<void>(co_await take_in(std::move(box), intake));
}

asio::awaitable<void> Team::look_at_letters() {
  if (!hosts_) co_return;
  for (const auto& box : hosts_->lead_boxes()) {
    auto& intake = alias_intakes_
                       .try_emplace(box, context_, mailbox_, services_.commits, asks_, shutdowns_, outbox_, delivery_,
                                    handlers::Place::lead)
                       .first->second;
    static_cast<void>(co_await take_in(box, intake));
  }
}

asio::awaitable<void> Team::look_at_workers(std::span<const News> boxes) {
  for (const auto& box : worker_boxes_.changed(boxes)) {
    for (bool more = true; more;) {
      const auto batch = co_await mailbox_.take(box, Reader::passer_by, taken_at_once);
      more = worker_boxes_.take(box, batch);
      if (!more) break;
      std::vector<Disposal> seen(batch.taken.size(), Disposal::leave);
      if (watches_all()) {
        std::vector<Disposal> recorded;
        const auto taken = co_await between_.take(box, batch, recorded);
        if (!taken) break;  // shown again
      }
      more = batch.more;
      static_cast<void>(co_await mailbox_.settle(box, std::move(seen)));
    }
  }
}

/// Where agents share their mail nobody's mail is more the team's than another's.
bool Team::watches_all() const {
  return context_.standing.stance == handlers::Stance::observer &&
         context_.config.team.carries_letters_only();
}

Reader Team::reader() const {
  if (context_.may(Right::take)) return Reader::owner;
  return context_.may(Right::mark_answered) ? Reader::beside : Reader::observer;
}

asio::awaitable<bool> Team::take_in(std::string box, Intake& intake) {
  const bool is_lead = box == context_.lead;
  for (bool all = true, first = is_lead, goes_on = false;; first = false, goes_on = true) {
    const auto as = reader();
    const auto looked = services_.clock.steady();
    const auto batch = co_await mailbox_.take(box, as, goes_on ? taken_of_many : taken_at_once);
    if (first && !co_await begin_look(batch)) co_return false;
    if (reader() != as) continue;  // what was found made us another reader
    if (batch.state != BoxState::open) co_return false;
    std::vector<Disposal> disposals;
    const auto taken = co_await intake.take(box, batch, disposals);
    if (!taken) co_return false;  // not committed, so not ours: nothing is consumed
    if (!batch.taken.empty())
      services_.telemetry.tally(context_.name)
          .accepted(std::chrono::duration_cast<std::chrono::milliseconds>(services_.clock.steady() - looked));
    if (std::find(disposals.begin(), disposals.end(), Disposal::consume) != disposals.end()) {
      // Committed: who hands it over goes first, the flags can wait their turn.
      chat_.raise();
      co_await asio::post(services_.executor, asio::use_awaitable);
      // Before another lead the first answer at the worker counts, so it does not wait for a lock on the lead's inbox.
      if (as == Reader::beside) co_await outbox_.run();
    }
    all = co_await settle(box, std::move(disposals)) && all;
    if (!batch.more) co_return all;
  }
}

asio::awaitable<bool> Team::begin_look(const Batch& batch) {
  report(batch.state, batch.detail);
  if (batch.state == BoxState::torn && batch.damaged_looks == context_.config.limits.torn_polls &&
      context_.may(Right::set_torn_aside))
    co_await set_torn_aside(batch);
  if (batch.state != BoxState::open) co_return false;
  housekeeping_.saw(batch.size);
  heed(batch);
  co_return context_.may(Right::read_inbox);
}

asio::awaitable<bool> Team::settle(std::string box, std::vector<Disposal> disposals) {
  const auto settled = co_await mailbox_.settle(box, std::move(disposals));
  // A lock that was taken over or came to nothing is worth a line, also where we succeeded.
  if (!settled.detail.empty() && settle_detail_ != settled.detail)
    services_.telemetry.emit(Event::inbox_lock_foreign,
                             {{"team", context_.name}, {"inbox", box}, {"reason", settled.detail}});
  if (!settled.detail.empty() || settled.consumed > 0) settle_detail_ = settled.detail;
  if (settled.consumed > 0)
    services_.telemetry.emit(Event::message_marked,
                             {{"team", context_.name}, {"inbox", box}, {"count", std::to_string(settled.consumed)}});
  co_return settled.put == Put::done;
}

void Team::reconfigure(const config::TeamConfig& config) {
  context_.reconfigure(config);
  context_.changed(all_areas);
  roster_adopted_ = false;
  lead_claim_.clear();
  poke();
}

void Team::retire() {
  retired_ = true;
  context_.changed(all_areas);
  delivery_.recall();
  if (hosts_) hosts_->wake();
  poke();
}

asio::awaitable<void> Team::set_torn_aside(const Batch& batch) {
  const auto kept = services_.quarantine.keep(context_.name, context_.lead, batch.damaged);
  if (kept)
    services_.telemetry.emit(Event::inbox_quarantined, {{"team", context_.name},
                                                        {"inbox", context_.lead},
                                                        {"path", *kept},
                                                        {"reason", batch.detail},
                                                        {"count", std::to_string(batch.taken.size())}});
  else
    services_.telemetry.emit(Event::daemon_fault,
                             {{"team", context_.name}, {"inbox", context_.lead}, {"reason", kept.error().message}});
  // The box stays as it is; what stands complete before the damage is taken in. Nothing in it is consumed.
  std::vector<Disposal> not_settled;
  static_cast<void>(co_await intake_.take(context_.lead, batch, not_settled));
}

void Team::report(BoxState now, const std::string& detail) {
  const std::string state(to_string(now));
  if (state == report_.state) {
    if (now == BoxState::open && detail != report_.detail) tell_worry(detail);
    report_.detail = detail;
    return;
  }
  const bool fine = now == BoxState::open || now == BoxState::missing || now == BoxState::empty;
  const bool first_and_fine = report_.state == InboxReport().state && now == BoxState::open;
  if (!first_and_fine)
    services_.telemetry.emit(fine ? Event::inbox_state : Event::inbox_unreadable, {{"team", context_.name},
                                                                                   {"inbox", context_.lead},
                                                                                   {"path", inbox_path()},
                                                                                   {"old", report_.state},
                                                                                   {"new", state},
                                                                                   {"reason", detail}});
  if (now == BoxState::open) tell_worry(detail);
  report_ = {state, detail};
  context_.changed(only(Area::teams));
}

/// What is said of a box that can be read.
void Team::tell_worry(const std::string& detail) {
  if (detail.empty()) return;
  services_.telemetry.emit(Event::daemon_warning,
                           {{"team", context_.name}, {"inbox", context_.lead}, {"reason", detail}});
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
  look_at_all_ = true;
  timer_.cancel();
  chat_.raise();
}

void Team::hint() {
  hinted_ = true;
  look_at_all_ = true;
  timer_.cancel();
}

Result<schema::MessageKey> Team::send(const std::string& to, const std::string& text, const std::string& summary,
                                      bool to_all) {
  if (const auto nobody = handlers::why_no_worker(to, context_.view())) return error_of(*nobody);
  if (context_.roster.find(to)->status == schema::ended_status)
    return Error{"member.ended", to + " has shut down, as its roster says, and nobody reads its inbox any more"};
  schema::Message message;
  message.from = context_.lead;
  message.text = text;
  message.summary = summary;
  message.to_all = to_all;
  const auto now = services_.clock.wall_ms();
  message.timestamp = schema::iso_timestamp(now);
  OutboxRow row;
  row.team = context_.name;
  row.inbox = schema::inbox_name(to);
  row.created_ms = now;
  row.next_ms = now;
  TRY(context_.commit([&](Tx& tx) -> Status {
    TRY(const auto batch, services_.ledger.next_batch());
    row.batch = batch;
    // Two equal texts to one worker in the same millisecond are one message: that is how peers see it.
    message.id = schema::uuid_from(context_.name + "\n" + to + "\n" + std::to_string(batch));
    row.key = schema::make_message_key({context_.name, row.inbox}, message.from, message.timestamp, text, 0);
    row.message = message;
    tx.then([&] { context_.told[to] = now; });
    return tx.ledger.outbox().enqueue(row);
  }));
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
  return context_.commit([&](Tx& tx) {
    tx.keep(tx.ledger.members().put(row));
    tx.then([&] { context_.members[member] = row; });
  });
}

std::string Team::inbox_path() const { return mailbox_.place_of(context_.lead); }

}  // namespace inbox_poller::poller
