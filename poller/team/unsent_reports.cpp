#include "poller/team/unsent_reports.hpp"

#include <utility>

namespace inbox_poller::poller {
namespace {

using handlers::Lane;

/// An inbox that stays unreadable or full delays a decision no longer than this.
constexpr std::chrono::seconds longest_postponement{10};
/// Two hooks of one event (of the settings and of the plugin) report within this time.
constexpr std::chrono::seconds repeated_within{10};

}  // namespace

void UnsentReports::ended(ReportedTurn turn, Decided decided) {
  const auto known = waiting_.find(turn.worker);
  if (known != waiting_.end() && known->second.turn.id.value == turn.id.value) {
    known->second.told.push_back(std::move(decided));
    return;
  }
  if (known != waiting_.end()) {  // its client went on without waiting for the decision
    const auto key = decide(known->second.turn);
    for (const auto& tell : known->second.told) tell(key ? *key : std::string());
    waiting_.erase(known);
  }
  std::string worker = turn.worker;
  waiting_.emplace(std::move(worker), Waiting{std::move(turn), {std::move(decided)}, context_.clock.steady()});
}

bool UnsentReports::begin_poll() {
  for (auto& [worker, one] : waiting_) one.precedes_poll = true;
  return !waiting_.empty();
}

void UnsentReports::run_due(bool read_all) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto& one = at->second;
    const bool is_late = context_.clock.steady() - one.since >= longest_postponement;
    if (!one.precedes_poll || !(read_all || is_late)) {
      ++at;
      continue;
    }
    const auto key = decide(one.turn);
    if (!key) return;  // a failing ledger is reported elsewhere
    const auto told = std::move(at->second.told);
    at = waiting_.erase(at);
    for (const auto& tell : told) tell(*key);
  }
}

bool UnsentReports::is_repeat(const ReportedTurn& turn, const MemberRow& member) const {
  if (member.turn != turn.id.value) return false;
  const auto decided = decided_at_.find(turn.worker);
  return turn.id.is_exact || decided == decided_at_.end() ||
         context_.clock.steady() - decided->second < repeated_within;
}

Result<std::string> UnsentReports::decide(const ReportedTurn& turn) {
  const auto known = context_.members.find(turn.worker);
  if (known == context_.members.end()) return std::string();
  MemberRow member = known->second;
  if (is_repeat(turn, member)) return member.unsent;
  TRY(const auto waiting, context_.ledger.deliveries().waiting(context_.name));
  const handlers::Arrival arrival{turn.worker, false, waiting->all, waiting->of(turn.worker)};
  const auto lane =
      handlers::judge(handlers::EndedTurn{turn.text, turn.went_wrong, member.has_told}, arrival, context_.view());
  member.has_told = false;
  member.turn = turn.id.value;
  member.unsent.clear();
  TRY(context_.commit([&](Tx& tx) -> Status {
    if (lane) TRY(keep(turn, *lane, member, tx));
    tx.then([&] {
      context_.members[turn.worker] = member;
      decided_at_[turn.worker] = context_.clock.steady();
    });
    return tx.ledger.members().put(member);
  }));
  return member.unsent;
}

Status UnsentReports::keep(const ReportedTurn& turn, Lane lane, MemberRow& member, Tx& tx) const {
  LeadNotice word;
  word.notice = handlers::notice_of(turn.text, {handlers::unsent_type, turn.id.value}, context_.view(),
                                    context_.clock.wall_ms(), turn.worker);
  word.notice.message.summary = handlers::unsent_summary;
  word.sender = turn.worker;
  word.type = handlers::unsent_type;
  word.reason = handlers::unsent_reason;
  word.delivery = lane == Lane::none ? DeliveryState::none : DeliveryState::queued;
  word.priority = lane == Lane::digest ? Priority::digest : Priority::chat;
  TRY(const auto row, tx.notify_lead(word));
  member.unsent = row.key.value;
  return Done{};
}

}  // namespace inbox_poller::poller
