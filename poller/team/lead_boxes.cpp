#include "poller/team/lead_boxes.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "handlers/whose_box.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
using handlers::Right;

namespace {

// Messages per transaction. With many waiting, each fsync costs more than the delay for other work.
constexpr std::size_t taken_at_once = 500;
constexpr std::size_t taken_of_many = 2000;

const ReadyBox* find_box(std::span<const ReadyBox> boxes, const std::string& name) {
  const auto found = std::find_if(boxes.begin(), boxes.end(), [&](const ReadyBox& one) { return one.box == name; });
  return found == boxes.end() ? nullptr : &*found;
}

}  // namespace

LeadBoxes::LeadBoxes(Runtime& services, TeamState& context, Mailbox& mailbox, TeamParts& parts,
                     RoleKeeper& role_keeper, Signal& chat)
    : services_(services),
      context_(context),
      mailbox_(mailbox),
      parts_(parts),
      role_keeper_(role_keeper),
      chat_(chat),
      receiver_(context, mailbox, services.commits, parts.requests, parts.shutdowns, parts.outbox, parts.delivery,
              handlers::Place::lead),
      worker_traffic_(context, mailbox, services.commits, parts.requests, parts.shutdowns, parts.outbox, parts.delivery,
               handlers::Place::worker) {}

void LeadBoxes::follow_role() {
  if (std::exchange(changed_, role_keeper_.times_changed()) == role_keeper_.times_changed()) return;
  mailbox_.rewind(context_.lead);
  for (const auto& [box, receiver] : others_) mailbox_.rewind(box);
}

asio::awaitable<void> LeadBoxes::scan_lead_box(Boxes boxes) {
  follow_role();
  if (std::exchange(lead_, context_.lead) != context_.lead) read_again();  // the former lead's inbox was read in
                                                                           // passing
  const ReadyBox* lead = boxes ? find_box(*boxes, context_.lead) : nullptr;
  if (boxes && lead == nullptr) {
    report(BoxState::missing, "");
    role_keeper_.check_lead_inbox();
    receiver_.end_look(false);
    co_return;
  }
  if (lead != nullptr && !lead->changed && !must_read()) co_return;
  read_under_ = role_keeper_.times_set();  // set first: a role that is set meanwhile has not read the inbox
  if (!co_await take_in(context_.lead, receiver_)) read_again();
}

Receiver& LeadBoxes::receiver_of(const std::string& box, handlers::Place place) {
  return others_
      .try_emplace(box, context_, mailbox_, services_.commits, parts_.requests, parts_.shutdowns, parts_.outbox, parts_.delivery,
                   place)
      .first->second;
}

asio::awaitable<void> LeadBoxes::look_at_aliases(Boxes boxes) {
  for (const std::string& box : parts_.worker_boxes.aliases()) {
    const ReadyBox* alias = boxes ? find_box(*boxes, box) : nullptr;
    if (alias == nullptr || (others_.contains(box) && !alias->changed)) continue;
    static_cast<void>(co_await take_in(box, receiver_of(box, handlers::Place::alias)));
  }
}

asio::awaitable<void> LeadBoxes::drain_forwarded(ClusterMember& nodes) {
  for (const auto& box : nodes.lead_boxes()) static_cast<void>(co_await take_in(box, receiver_of(box, handlers::Place::lead)));
}

asio::awaitable<void> LeadBoxes::scan_worker_boxes(std::span<const ReadyBox> boxes) {
  for (const auto& box : parts_.worker_boxes.changed(boxes)) {
    for (bool more = true; more;) {
      const auto batch = co_await mailbox_.receive(box, Access::peek, taken_at_once);
      more = parts_.worker_boxes.take(box, batch);
      if (!more) break;
      std::vector<Ack> seen(batch.taken.size(), Ack::skip);
      if (handlers::watches_all(context_.membership, context_.config.team.facts())) {
        std::vector<Ack> recorded;
        const auto taken = co_await worker_traffic_.take(box, batch, recorded);
        if (!taken) break;  // returned again by the next scan
      }
      more = batch.more;
      if (!more) worker_traffic_.end_look(false);
      static_cast<void>(co_await mailbox_.ack(box, std::move(seen)));
    }
  }
}

Access LeadBoxes::reader() const {
  if (context_.may(Right::take)) return Access::exclusive;
  return context_.may(Right::mark_answered) ? Access::shared : Access::observe;
}

asio::awaitable<bool> LeadBoxes::take_in(std::string box, Receiver& receiver) {
  const bool is_lead = box == context_.lead;
  bool all = true, left_out = false;
  for (bool first = is_lead, goes_on = false;; first = false, goes_on = true) {
    follow_role();
    const auto as = reader();
    const auto looked = services_.clock.steady();
    const auto batch = co_await mailbox_.receive(box, as, goes_on ? taken_of_many : taken_at_once);
    if (look_at_roster_ && context_.config.team.facts().asks && !batch.taken.empty()) look_at_roster_();
    if (first && !co_await begin_look(batch)) co_return false;
    if (reader() != as) continue;  // take() changed our role; read again with the new one
    if (batch.state != BoxState::open) co_return false;
    std::vector<Ack> disposals;
    const auto taken = co_await receiver.take(box, batch, disposals);
    if (!taken) co_return false;  // not committed: consume nothing
    if (!batch.taken.empty())
      services_.telemetry.tally(context_.name)
          .accepted(std::chrono::duration_cast<std::chrono::milliseconds>(services_.clock.steady() - looked));
    const auto has = [&](Ack one) { return std::find(disposals.begin(), disposals.end(), one) != disposals.end(); };
    left_out = left_out || has(Ack::requeue);
    if (has(Ack::ack)) {
      // Committed: delivery goes first, the read flags can wait.
      chat_.raise();
      co_await asio::post(services_.executor, asio::use_awaitable);
      // Before another lead the first answer at the worker counts, so do not wait for a lock on the lead's inbox first.
      if (as == Access::shared) co_await parts_.outbox.run();
    }
    all = co_await ack(box, std::move(disposals)) && all;
    if (batch.more) continue;
    receiver.end_look(left_out);
    co_return all && !left_out;
  }
}

asio::awaitable<bool> LeadBoxes::begin_look(const Batch& batch) {
  report(batch.state, batch.detail);
  if (batch.state == BoxState::torn && batch.damaged_looks == context_.config.limits.quarantine_after_polls &&
      context_.may(Right::set_torn_aside))
    co_await set_torn_aside(batch);
  if (batch.state != BoxState::open) co_return false;
  parts_.housekeeping.saw(batch.size);
  role_keeper_.observe_consumers(batch);
  co_return context_.may(Right::read_inbox);
}

asio::awaitable<bool> LeadBoxes::ack(std::string box, std::vector<Ack> disposals) {
  const auto settled = co_await mailbox_.ack(box, std::move(disposals));
  // Log a lock that was broken or contended, even after a success.
  if (!settled.detail.empty() && settle_detail_ != settled.detail)
    services_.telemetry.emit(Event::inbox_lock_foreign,
                             {{"team", context_.name}, {"inbox", box}, {"reason", settled.detail}});
  if (!settled.detail.empty() || settled.consumed > 0) settle_detail_ = settled.detail;
  if (settled.consumed > 0)
    services_.telemetry.emit(Event::message_marked,
                             {{"team", context_.name}, {"inbox", box}, {"count", std::to_string(settled.consumed)}});
  co_return settled.put == WriteStatus::done;
}

asio::awaitable<void> LeadBoxes::set_torn_aside(const Batch& batch) {
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
  // The damaged inbox stays as it is. Complete entries before the damage are accepted, but nothing is consumed.
  std::vector<Ack> not_settled;
  static_cast<void>(co_await receiver_.take(context_.lead, batch, not_settled));
}

void LeadBoxes::report(BoxState now, const std::string& detail) {
  const std::string state(to_string(now));
  if (state == report_.state) {
    if (now == BoxState::open && detail != report_.detail) tell_worry(detail);
    report_.detail = detail;
    return;
  }
  const bool fine = now == BoxState::open || now == BoxState::missing || now == BoxState::empty;
  const bool first_and_fine = report_.state == InboxReport().state && now == BoxState::open;
  if (!first_and_fine)
    services_.telemetry.emit(fine ? Event::inbox_state : Event::inbox_unreadable,
                             {{"team", context_.name},
                              {"inbox", context_.lead},
                              {"path", mailbox_.location(context_.lead)},
                              {"old", report_.state},
                              {"new", state},
                              {"reason", detail}});
  if (now == BoxState::open) tell_worry(detail);
  report_ = {state, detail};
  context_.changed(only(Area::teams));
}

/// Logs the worry about a readable inbox.
void LeadBoxes::tell_worry(const std::string& detail) {
  if (detail.empty()) return;
  services_.telemetry.emit(Event::daemon_warning,
                           {{"team", context_.name}, {"inbox", context_.lead}, {"reason", detail}});
}

}  // namespace inbox_poller::poller
