#include "poller/team/shutdowns.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "handlers/whose_pane.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::NotTaken;
using handlers::Shutdown;
using handlers::ShutdownEvent;
using handlers::ShutdownState;
using handlers::ShutdownStep;
using handlers::WorkerPlace;

constexpr int steps_at_once = 8;
constexpr int most_given_up = 100;  // shutdowns looked at on start
/// Interval between scans for descendants of a worker that is to end. A process that starts and is orphaned between two
/// scans is not recognized.
constexpr std::chrono::seconds family_every{1};

/// Records the report of the worker's node about its end.
void told_by(const Shutdowns::Elsewhere& there, ShutdownEvent event, Shutdown& shutdown) {
  if (event == ShutdownEvent::time_passes && shutdown.state == ShutdownState::timed_out && !there.ended)
    shutdown.detail = "node " + there.node + ", where it lives, did not tell that it ended";
  const bool over = event == ShutdownEvent::time_passes || event == ShutdownEvent::traces_removed;
  if (over && !there.detail.empty()) shutdown.detail += (shutdown.detail.empty() ? "node " : "; node ") + there.node + ": " + there.detail;
  if (event == ShutdownEvent::process_ends) shutdown.tasks = there.tasks;
}

bool is_ours(const std::vector<ProcessRef>& processes) {
  return std::any_of(processes.begin(), processes.end(), [](const auto& process) { return process.pid == ::getpid(); });
}

Pane recorded_pane(const Shutdown& shutdown) {
  return {shutdown.place.pane_id, shutdown.place.server, shutdown.place.pane, false};
}

std::string names_of(const std::vector<schema::Task>& tasks) {
  std::string text;
  for (const auto& task : tasks)
    if (!task.internal) text += (text.empty() ? "" : ", ") + task.id + " \"" + task.subject + "\"";
  return text;
}

Fields fields_of(const TeamState& context, const Shutdown& shutdown) {
  return {{"team", context.name}, {"request_id", shutdown.request_id}, {"member", shutdown.member}};
}

/// Returns the obstacle of a file operation with its kind as the code; empty after a success.
std::optional<Error> hindrance(const std::string& what, const WriteReceipt& result) {
  const auto told = [&](const std::string& why) {
    return Error{what + " " + why, what + " " + why + (result.detail.empty() ? "" : ": " + result.detail)};
  };
  switch (result.put) {
    case WriteStatus::done:
    case WriteStatus::unchanged:
    case WriteStatus::gone: return std::nullopt;  // an unreadable message ends no worker
    case WriteStatus::busy: return told("is being written by another program");
    case WriteStatus::blocked: return told("is blocked by something that is not ours to remove");
    case WriteStatus::refused: return told("is not a file we may change");
    case WriteStatus::fault: return told("cannot be changed");
  }
  std::abort();
}

}  // namespace

Shutdowns::Shutdowns(TeamState& context, Mailbox& mailbox, RosterStore& members, TaskBoard* board, Panes& panes,
                     Processes& processes)
    : context_(context), mailbox_(mailbox), members_(members), board_(board), panes_(panes), processes_(processes),
      family_(context, processes) {}

Status Shutdowns::restore() {
  TRY(auto rows, context_.ledger.shutdowns().open(context_.name));
  const auto now = context_.clock.wall_ms();
  for (auto& row : rows) {
    // A start in the future means that the clock was set back while the daemon was down. That must not extend any
    // limit.
    if (const auto ahead = row.changed_ms - now; ahead > 0) {
      for (auto* moment :
           {&row.changed_ms, &row.remind_ms, &row.reminded_ms, &row.force_ms, &row.timeout_ms, &row.term_ms, &row.kill_ms})
        if (*moment != 0) *moment -= ahead;
    }
    // Time without a daemon that could close the pane does not count.
    if (row.state == ShutdownState::process_gone) row.changed_ms = now;
    open_[row.request_id] = std::move(row);
  }
  TRY(auto latest, context_.ledger.shutdowns().latest(context_.name, most_given_up));
  for (auto& row : latest)
    if (row.state == ShutdownState::timed_out) given_up_[row.request_id] = std::move(row);
  return Done{};
}

std::optional<NotTaken> Shutdowns::open_for(const std::string& member) const {
  for (const auto& [id, other] : open_)
    if (other.member == member)
      return NotTaken{"shutdown.open", member + " is being shut down already: " + id + " is " +
                                           std::string(to_string(other.state)) +
                                           " and cannot be canceled. `--force-after` or `--force` ends it sooner; "
                                           "`inbox-poller shutdowns` shows how far it is"};
  return std::nullopt;
}

std::optional<Result<Shutdowns::Begun>> Shutdowns::hurry(const Order& order) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const auto& one) {
    return one.second.member == order.member && one.second.state == ShutdownState::requested;
  });
  if (found == open_.end() || (!order.force && !order.force_after)) return std::nullopt;
  Shutdown shutdown = found->second;
  if (auto why = hindered(order, shutdown.place)) return Result<Begun>(*std::move(why));
  const auto due = context_.clock.wall_ms() + (order.force ? 0 : order.force_after->count());
  if (shutdown.force_ms == 0 || due < shutdown.force_ms) shutdown.force_ms = due;
  shutdown.timeout_ms = std::max(shutdown.timeout_ms, shutdown.force_ms);
  const auto committed = context_.commit([&](Tx& tx) -> Status {
    auto fields = fields_of(context_, shutdown);
    fields.emplace_back("by", order.by);
    fields.emplace_back("reason", "goes on without its consent from " + schema::iso_timestamp(shutdown.force_ms));
    tx.log(Event::shutdown_requested, std::move(fields));
    tx.then([&] { answered(shutdown); });
    return tx.ledger.shutdowns().put(context_.name, shutdown);
  });
  if (!committed) return Result<Begun>(committed.error());
  if (order.force) move(shutdown, ShutdownEvent::force_is_due);
  return Result<Begun>(open_.at(shutdown.request_id));
}

asio::awaitable<Result<Shutdowns::Begun>> Shutdowns::request(Order order) {
  if (auto hurried = hurry(order)) co_return *std::move(hurried);
  if (auto why = open_for(order.member)) co_return Begun(*std::move(why));
  const auto& settings = context_.config.shutdown;
  handlers::ShutdownOrder wanted{order.member,
                                 order.by,
                                 order.reason,
                                 order.remind_after.value_or(settings.remind_after),
                                 order.force_after ? order.force_after : settings.force_after,
                                 order.force,
                                 {}};
  if (const auto* found = context_.roster.find(order.member)) {
    const schema::Member member = *found;  // the roster may be replaced during the wait
    if (!elsewhere({.member = order.member})) wanted.place = co_await find_place(member);
    if (auto why = hindered(order, wanted.place)) co_return Begun(*std::move(why));
  }
  if (auto why = open_for(order.member)) co_return Begun(*std::move(why));  // two callers may have asked at once
  auto drafted = handlers::draft_shutdown(wanted, context_.view(), context_.clock.wall_ms());
  if (auto* refused = std::get_if<NotTaken>(&drafted)) co_return Begun(std::move(*refused));
  auto& draft = std::get<handlers::ShutdownDraft>(drafted);
  draft.shutdown.survivors = family_.of(draft.shutdown, draft.shutdown.place.processes);
  CO_TRY(context_.commit([&](Tx& tx) -> Status {
    TRY(const auto batch, tx.ledger.next_batch());
    TRY(tx.ledger.shutdowns().put(context_.name, draft.shutdown));
    auto fields = fields_of(context_, draft.shutdown);
    fields.emplace_back("by", draft.shutdown.by);
    fields.emplace_back("reason", draft.shutdown.place.left_alone);
    tx.log(Event::shutdown_requested, std::move(fields));
    if (draft.request) tx.post({*draft.request}, draft.shutdown.request_id, batch);
    tx.then([&] { open_[draft.shutdown.request_id] = draft.shutdown; });
    return Done{};
  }));
  co_return Begun(draft.shutdown);
}

std::optional<NotTaken> Shutdowns::hindered(const Order& order, const WorkerPlace& place) {
  const auto* listed = context_.roster.find(order.member);
  const bool inside = listed != nullptr && !listed->status.empty() && listed->status != schema::ended_status;
  if (inside && (order.force || order.force_after)) return handlers::only_by_itself(order.member);
  const auto sight = elsewhere({.member = order.member}) ? WorkerProcesses::Sight() : context_.sight_of(order.member);
  const auto living = sight.process == handlers::WorkerProcess::unseen ? 0 : sight.pid;
  return handlers::no_beginning(order.member, order.force, context_.answer_authority(order.member), place, living);
}

asio::awaitable<WorkerPlace> Shutdowns::find_place(schema::Member member) {
  WorkerPlace place;
  place.backend = member.backend_type;
  const auto alone = [&](std::string why) {
    place.left_alone = std::move(why);
    return place;
  };
  const auto& id = member.tmux_pane_id;
  if (auto why = handlers::left_alone(member, schema::is_pane_id(id), context_.roster); !why.empty()) co_return alone(why);
  const auto found = co_await panes_.find(id);
  if (!found) co_return alone("tmux could not be asked about its pane " + id + ": " + found.error().message);
  if (!*found) co_return alone("tmux does not know pane " + id);
  const Pane pane = **found;
  const auto lead = family_.lead();
  std::vector<handlers::PaneProcess> inside;
  for (const auto& process : processes_.family(pane.first))
    inside.push_back(
        {process, option_of(processes_.arguments(process), agent_option), process.pid == ::getpid(), process == lead});
  auto owner = handlers::owner_of(member, inside, processes_.started_ms(pane.first));
  if (!owner.left_alone.empty()) co_return alone(owner.left_alone);
  place.processes = std::move(owner.worker);
  if (place.processes.empty() && !inside.empty())
    place.processes.push_back(family_.worker_in(pane.first, member.joined_at_ms));
  if (!context_.config.shutdown.close_panes) co_return alone("panes are left alone here (shutdown.close_panes)");
  place.pane_id = id;
  place.server = pane.server;
  place.pane = pane.first;
  co_return place;
}

bool Shutdowns::record_family(Shutdown& shutdown, std::vector<ProcessRef> roots) {
  looked_[shutdown.request_id] = context_.clock.steady();
  roots.insert(roots.end(), shutdown.place.processes.begin(), shutdown.place.processes.end());
  roots.insert(roots.end(), shutdown.survivors.begin(), shutdown.survivors.end());
  if (roots.empty()) return true;
  auto family = family_.of(shutdown, roots);
  if (!family_.has_changed(shutdown.survivors, family)) return true;
  shutdown.survivors = std::move(family);
  return keep(shutdown, [](Tx&) -> Status { return Done{}; });
}

bool Shutdowns::follow_family(Shutdown& shutdown) {
  const auto looked = looked_.find(shutdown.request_id);
  if (looked != looked_.end() && context_.clock.steady() - looked->second < family_every) return true;
  return shutdown.state == ShutdownState::pane_gone || record_family(shutdown, {});
}

void Shutdowns::answered(const Shutdown& shutdown) {
  given_up_.erase(shutdown.request_id);
  if (shutdown.state == ShutdownState::timed_out) given_up_[shutdown.request_id] = shutdown;
  if (handlers::is_open(shutdown.state)) {
    open_[shutdown.request_id] = shutdown;
  } else {
    open_.erase(shutdown.request_id);
    told_.erase(shutdown.request_id);
    looked_.erase(shutdown.request_id);
  }
}

/// The worker may still agree. Once it has gone, the next one of its name would read the request and end.
void Shutdowns::withdraw_given_up() {
  if (context_.lead.empty()) return;  // the roster was not read yet
  std::erase_if(given_up_, [this](const auto& one) {
    const auto* member = context_.roster.find(one.second.member);
    const bool stays = member != nullptr && !is_successor(member->joined_at_ms, one.second.joined_ms);
    return !stays && (elsewhere(one.second) || !withdraw_words(one.second));
  });
}

asio::awaitable<void> Shutdowns::run_due() {
  withdraw_given_up();
  std::vector<std::string> ids;
  for (const auto& [id, shutdown] : open_) ids.push_back(id);
  for (const auto& id : ids) {
    bool more = true;
    for (int steps = 0; more && steps < steps_at_once; ++steps) more = co_await step(id);
  }
}

asio::awaitable<handlers::ShutdownSight> Shutdowns::look(Shutdown shutdown) {
  const auto lives = [&](const std::vector<ProcessRef>& list) {
    return std::any_of(list.begin(), list.end(), [&](const auto& process) { return processes_.is_alive(process); });
  };
  handlers::ShutdownSight sight;
  sight.process = lives(shutdown.place.processes);
  sight.survivors = lives(shutdown.survivors);
  if (const auto* member = context_.roster.find(shutdown.member); member != nullptr && !member->status.empty())
    sight.ended = member->status == schema::ended_status;
  if (const auto there = elsewhere(shutdown)) sight.ended = there->ended;
  const bool pane_matters = shutdown.state == ShutdownState::process_gone || shutdown.place.processes.empty();
  if (shutdown.place.pane_id.empty() || !pane_matters) co_return sight;
  const auto found = co_await panes_.find(shutdown.place.pane_id);
  // If tmux cannot be queried, assume the pane still exists.
  sight.pane = !found || (*found && is_same(**found, recorded_pane(shutdown)));
  co_return sight;
}

asio::awaitable<bool> Shutdowns::step(std::string id) {
  const auto found = open_.find(id);
  if (found == open_.end()) co_return false;
  Shutdown shutdown = found->second;
  if (!context_.may(handlers::Right::shut_down) && elsewhere(shutdown)) co_return false;  // until we lead again
  if (!follow_family(shutdown)) co_return false;
  const auto sight = co_await look(shutdown);
  const auto still = open_.find(id);
  if (still == open_.end()) co_return false;
  if (still->second.state != shutdown.state || still->second.force_ms != shutdown.force_ms)
    co_return true;  // answered or sped up meanwhile: check again
  const auto seen = since_it_was_asked(shutdown);
  if (!seen) co_return false;  // a failing ledger is reported elsewhere
  const auto next = handlers::next_step(*seen, sight, context_.config.shutdown, context_.clock.wall_ms());
  switch (next.step) {
    case ShutdownStep::wait: co_return false;
    case ShutdownStep::remind: co_return remind(std::move(shutdown));
    case ShutdownStep::terminate: co_return signal(std::move(shutdown), SIGTERM);
    case ShutdownStep::kill: co_return signal(std::move(shutdown), SIGKILL);
    case ShutdownStep::advance: co_return move(std::move(shutdown), *next.event);
    case ShutdownStep::remove_traces: co_return remove_traces(std::move(shutdown), *next.event);
    case ShutdownStep::close_pane: co_return co_await close_pane(std::move(shutdown));
  }
  std::abort();
}

Result<Shutdown> Shutdowns::since_it_was_asked(Shutdown shutdown) const {
  if (shutdown.state != ShutdownState::requested) return shutdown;
  if (!context_.may(handlers::Right::shut_down)) {  // the leading node reminds and forces
    shutdown.remind_ms = shutdown.force_ms = 0;
    return shutdown;
  }
  TRY(const auto words, context_.ledger.outbox().of_request(context_.name, shutdown.request_id));
  if (words.empty() && shutdown.force_ms == 0)  // another node asked, and led before us
    shutdown.timeout_ms = std::min(shutdown.timeout_ms, shutdown.changed_ms + context_.config.shutdown.timeout.count());
  if (words.empty()) return shutdown;
  const auto& request = words.front();
  if (request.state == EffectState::pending) {  // the inbox is locked, or we were away: no answer is possible yet
    shutdown.remind_ms = shutdown.force_ms = shutdown.timeout_ms = 0;
    return shutdown;
  }
  const auto late = std::max<EpochMs>(0, request.next_ms - shutdown.requested_ms);
  for (auto* due : {&shutdown.remind_ms, &shutdown.force_ms, &shutdown.timeout_ms})
    if (*due != 0) *due += late;
  return shutdown;
}

asio::awaitable<bool> Shutdowns::close_pane(Shutdown shutdown) {
  if (!record_family(shutdown, {shutdown.place.pane})) co_return false;
  if (is_ours(processes_.family(shutdown.place.pane))) {
    const Error why{"pane.ours", "its pane is left open: this program was started in it"};
    co_return stuck(std::move(shutdown), why);
  }
  // Named: g++ 12 destroys an aggregate twice that is made within a co_await expression.
  const Pane pane = recorded_pane(shutdown);
  const auto closed = co_await panes_.close(pane);
  if (!closed) co_return stuck(std::move(shutdown), closed.error());
  co_return false;  // the next check sees if it has gone
}

bool Shutdowns::keep(const Shutdown& shutdown, const Work& beside) {
  const auto kept = context_.commit([&](Tx& tx) -> Status {
    TRY(tx.ledger.shutdowns().put(context_.name, shutdown));
    tx.then([&] { answered(shutdown); });
    return beside(tx);
  });
  return kept.ok();  // on failure the same step runs again
}

bool Shutdowns::remind(Shutdown shutdown) {
  shutdown.reminded_ms = context_.clock.wall_ms();
  return keep(shutdown, [&](Tx& tx) -> Status {
    tx.log(Event::shutdown_reminded, fields_of(context_, shutdown));
    TRY(const auto batch, tx.ledger.next_batch());
    const auto words = handlers::reminder_of(shutdown, context_.view(), shutdown.reminded_ms);
    tx.post({words}, shutdown.request_id, batch);
    return Done{};
  });
}

bool Shutdowns::signal(Shutdown shutdown, int number) {
  if (!record_family(shutdown, {})) return false;
  const auto& targets = shutdown.state == ShutdownState::process_gone ? shutdown.survivors : shutdown.place.processes;
  std::size_t count = 0;
  std::string problem;
  for (const auto& process : targets) {
    if (!processes_.is_alive(process)) continue;
    const auto sent = processes_.signal(process, number);
    count += sent ? 1 : 0;
    if (!sent) problem = sent.error().message;
  }
  (number == SIGKILL ? shutdown.kill_ms : shutdown.term_ms) = context_.clock.wall_ms();
  return keep(shutdown, [&](Tx& tx) {
    auto fields = fields_of(context_, shutdown);
    fields.emplace_back("count", std::to_string(count));
    fields.emplace_back("signal", number == SIGKILL ? "KILL" : "TERM");
    if (!problem.empty()) fields.emplace_back("reason", problem);
    tx.log(Event::shutdown_signaled, std::move(fields));
  });
}

bool Shutdowns::move(Shutdown shutdown, ShutdownEvent event, const std::string& remark) {
  const auto old = shutdown.state;
  const auto next = handlers::transition(old, event);
  if (!next) return false;
  shutdown.state = *next;
  shutdown.changed_ms = context_.clock.wall_ms();
  shutdown.detail = event == ShutdownEvent::time_passes ? handlers::given_up(old) : handlers::waiting_for(shutdown);
  if (const auto there = elsewhere(shutdown)) told_by(*there, event, shutdown);
  if (!remark.empty()) shutdown.detail += (shutdown.detail.empty() ? "" : "; ") + remark;
  const bool kept = keep(shutdown, [&](Tx& tx) -> Status {
    auto fields = fields_of(context_, shutdown);
    fields.emplace_back("old", std::string(to_string(old)));
    fields.emplace_back("new", std::string(to_string(shutdown.state)));
    fields.emplace_back("reason", shutdown.detail);
    tx.log(Event::shutdown_state, std::move(fields));
    const bool ended = shutdown.state == ShutdownState::cleaned || shutdown.state == ShutdownState::timed_out;
    if (ended) TRY(drop_words(shutdown));
    return ended ? notify_lead(shutdown, tx) : Status(Done{});
  });
  const bool seen_to_end = event == ShutdownEvent::process_ends && !shutdown.place.processes.empty();
  if (kept && (seen_to_end || shutdown.state == ShutdownState::cleaned)) ended_.push_back(shutdown);
  return kept;
}

std::optional<Error> Shutdowns::withdraw_words(const Shutdown& shutdown) {
  TRY(const auto words, context_.ledger.outbox().of_request(context_.name, shutdown.request_id));
  auto keys = carried_words(shutdown);
  for (const auto& row : words) keys.push_back(row.key);
  return hindrance("its inbox", mailbox_.recall(schema::inbox_name(shutdown.member), keys));
}

Status Shutdowns::drop_words(const Shutdown& shutdown) {
  // Drop unsent requests: the next worker with this name would read them and exit.
  TRY(auto rows, context_.ledger.outbox().of_request(context_.name, shutdown.request_id));
  for (const auto& row : rows) {
    if (row.state != EffectState::pending) continue;
    TRY(context_.ledger.outbox().set(row.id, EffectState::done, row.attempts, shutdown.changed_ms,
                                     "its shutdown was over before it could be written"));
  }
  return Done{};
}

Status Shutdowns::notify_lead(const Shutdown& shutdown, Tx& tx) {
  if (!context_.may(handlers::Right::notify_lead)) return Done{};  // the leading node does
  LeadNotice word;
  word.notice = handlers::end_notice(shutdown, context_.view(), shutdown.changed_ms);
  if (shutdown.state == ShutdownState::cleaned) word.type = "teammate_terminated";
  word.request_id = shutdown.request_id;
  const auto told = tx.notify_lead(word);
  return told ? Status(Done{}) : Status(told.error());
}

bool Shutdowns::remove_traces(Shutdown shutdown, ShutdownEvent event) {
  const auto& settings = context_.config.shutdown;
  // Withdraw unread requests: the next worker with this name would read them and exit.
  if (auto why = withdraw_words(shutdown)) return stuck(std::move(shutdown), *std::move(why));
  const auto* member = context_.roster.find(shutdown.member);
  if (member != nullptr && is_successor(member->joined_at_ms, shutdown.joined_ms))
    return move(std::move(shutdown), event);
  std::string passed_over;
  if (settings.release_tasks && board_ != nullptr) {
    auto released = board_->release_tasks(shutdown.member, shutdown.agent_id);
    if (const auto names = names_of(released.tasks); !names.empty())
      shutdown.tasks += (shutdown.tasks.empty() ? "" : ", ") + names;
    if (auto why = hindrance("the task list", released))
      return stuck(std::move(shutdown), *std::move(why));
    if (released.put == WriteStatus::done) passed_over = std::move(released.detail);
  }
  if (settings.remove_members) {
    if (auto why = hindrance("the roster", members_.remove_member(shutdown.member)))
      return stuck(std::move(shutdown), *std::move(why));
  }
  return move(std::move(shutdown), event, passed_over);
}

bool Shutdowns::stuck(Shutdown shutdown, const Error& why) {
  auto& told = told_[shutdown.request_id];
  const bool given_back = open_[shutdown.request_id].tasks != shutdown.tasks;
  if (told == why.code && !given_back) return false;
  shutdown.detail = why.message;
  const bool kept = keep(shutdown, [&](Tx& tx) {
    auto fields = fields_of(context_, shutdown);
    fields.emplace_back("reason", why.message);
    tx.log(Event::shutdown_stuck, std::move(fields));
  });
  if (kept) told = why.code;
  return false;  // the next tick retries
}

std::vector<std::string> Shutdowns::leaving() const {
  std::vector<std::string> names;
  for (const auto& [id, shutdown] : open_) {
    const auto* member = context_.roster.find(shutdown.member);
    const bool successor = member != nullptr && is_successor(member->joined_at_ms, shutdown.joined_ms);
    if (shutdown.state == ShutdownState::pane_gone && !successor) names.push_back(shutdown.member);
  }
  return context_.config.shutdown.remove_members ? names : std::vector<std::string>();
}

std::vector<Shutdown> Shutdowns::open() const {
  std::vector<Shutdown> list;
  for (const auto& [id, shutdown] : open_) list.push_back(shutdown);
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.requested_ms < b.requested_ms; });
  return list;
}

}  // namespace inbox_poller::poller
