// The stages of a poll: their order, and the rights that each needs.
#include <bit>
#include <cstdint>
#include <utility>

#include "poller/team/team.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;

/// One stage of a poll.
struct Team::Stage {
  enum When {
    each,     // at every poll
    changed,  // skipped if only the time has changed
  };
  std::string_view name;
  std::uint32_t rights;  // one of them is needed; none: always allowed
  When when;
  asio::awaitable<void> (*run)(Team&, const Round&);  // returns an empty Work if there is nothing to wait for

  [[nodiscard]] bool is_due(const Round& round, const handlers::Membership& membership) const {
    if (when == changed && round.rests) return false;
    if (rights == 0) return true;
    for (auto left = rights; left != 0; left &= left - 1)
      if (membership.may(static_cast<handlers::Right>(std::countr_zero(left)))) return true;
    return false;
  }
};

namespace {

template <class... Rights>
constexpr std::uint32_t any_of(Rights... rights) {
  static_assert(handlers::right_count <= 32);
  return ((1U << static_cast<unsigned>(rights)) | ...);
}

constexpr std::uint32_t anybody = 0;
using enum handlers::Right;

}  // namespace

/// Functions of the stages. A stage without a wait returns an empty Work: with a coroutine for each stage, an idle poll
/// would cost half as much again.
struct Team::Stages {
  using Work = asio::awaitable<void>;

  /// Compares the ledger's files with the open ones, and reports a difference.
  static bool has_ledger(Team& team) {
    const auto there = team.services_.ledger.still_there();
    if (!there) team.context_.heard_of_ledger(there);
    return there.ok();
  }

  /// True if this poll may mark, write or signal what an earlier one has committed. At rest it does nothing without a
  /// commit, which checks the ledger's files itself.
  static bool acts_without_commit(Team& team, const Round& round) {
    return !round.rests || team.cluster_ || team.boxes_.tasks || team.parts_.shutdowns.under_way() ||
           !team.parts_.outbox.owes_nothing();
  }

  static Work hand_over(Team& team, const Round&) {
    if (team.between_nodes_) team.between_nodes_->handover.run_due();
    return {};
  }

  static Work run_ends(Team& team, const Round&) {
    return team.between_nodes_ ? team.between_nodes_->ends.run_due() : Work();
  }

  static Work carry(Team& team, const Round& round) {
    return team.cluster_ && round.boxes ? team.cluster_->carry(team.between_nodes_->handover.owes_chat()) : Work();
  }

  static Work read_letters(Team& team, const Round&) {
    return team.cluster_ ? team.lead_boxes_.drain_forwarded(*team.cluster_) : Work();
  }

  static Work read_lead(Team& team, const Round& round) {
    if (!team.cluster_ || !team.cluster_->frames_to_lead_wait()) return team.lead_boxes_.scan_lead_box(round.boxes);
    // Deliver messages handed over by the former leader before reading the inbox, to keep their order.
    team.lead_boxes_.read_again();
    return {};
  }

  static Work read_workers(Team& team, const Round& round) {
    return round.boxes ? team.lead_boxes_.scan_worker_boxes(*round.boxes)
                       : Work();  // the lead's inbox reports the error
  }

  /// On one machine: what another program has answered is known before the request is read.
  static Work read_workers_first(Team& team, const Round& round) {
    return team.cluster_ ? Work() : read_workers(team, round);
  }

  static Work read_workers_of_node(Team& team, const Round& round) {
    return team.cluster_ ? read_workers(team, round) : Work();
  }

  static Work run_requests(Team& team, const Round&) {
    team.parts_.requests.run_due();
    return {};
  }

  static Work run_delivery(Team& team, const Round&) {
    team.parts_.delivery.run_due();
    return {};
  }

  static Work read_aliases(Team& team, const Round& round) {
    return team.parts_.worker_boxes.aliases().empty() ? Work() : team.lead_boxes_.look_at_aliases(round.boxes);
  }

  /// True if a turn of a worker has ended, so that this poll must read the lead's inboxes.
  static bool begin_turn_ends(Team& team) {
    const bool ended = team.parts_.worker_hooks.unsent_reports.begin_poll();
    if (ended) team.lead_boxes_.read_again();
    return ended;
  }

  /// After all that the lead has got is read, because a message of the turn counts.
  static Work run_turn_ends(Team& team, const Round&) {
    const bool letters_wait = team.cluster_ && team.cluster_->frames_to_lead_wait();
    team.parts_.worker_hooks.unsent_reports.run_due(!letters_wait && team.lead_boxes_.has_read());
    return {};
  }

  static Work run_orders(Team& team, const Round&) {
    team.parts_.orders.run_due(team.roster_.report().state == "ok");
    return {};
  }

  static Work run_plans(Team& team, const Round&) {
    team.parts_.plan_reminders.run_due();
    return {};
  }

  static Work grant_stops(Team& team, const Round&) {
    return team.parts_.rule_grants.owes() ? team.parts_.rule_grants.run_due() : Work();
  }

  static Work run_shutdowns(Team& team, const Round& round) {
    return round.rests && !team.parts_.shutdowns.under_way() ? Work() : team.parts_.shutdowns.run_due();
  }

  static Work close_requests_of_ended(Team& team, const Round&) {
    for (const auto& one : team.parts_.shutdowns.take_ended()) {
      if (!team.context_.may(answer_by_time)) continue;
      team.roster_.look_ahead();  // what told of the end may name the next worker of that name
      const auto* next = team.context_.roster.find(one.member);
      const bool is_next = next != nullptr && is_successor(next->joined_at_ms, one.joined_ms);
      // The next worker of that name keeps what it has asked since it joined. Clocks of two machines are not compared.
      const bool is_far = is_next && team.cluster_ && team.cluster_->state().is_elsewhere(one.member);
      const auto until = is_next && !is_far ? team.context_.clock.from_peer(next->joined_at_ms) : one.changed_ms;
      const EpochMs next_joined = is_far ? next->joined_at_ms : 0;
      team.parts_.requests.ended(one.member, until, next_joined, one.member + " was ended (" + one.request_id + ")");
    }
    return {};
  }

  static Work run_tasks(Team& team, const Round&) {
    team.parts_.tasks.run_due();
    return {};
  }

  /// Runs also while another node leads: earlier decisions must be sent, and the other node's message about them is
  /// rejected.
  static Work carry_out(Team& team, const Round&) {
    return team.parts_.outbox.owes_nothing() ? Work() : team.parts_.outbox.run();
  }

  /// Raises chat() after any ledger change, because chat may wait for replies of its batch or for a decision.
  static Work tell_of_chat(Team& team, const Round&) {
    const auto now = team.services_.ledger.changes();
    if (std::exchange(team.changes_, now) != now) team.chat_.raise();
    return {};
  }

  /// Only a scan of the whole inbox shows which messages may come back.
  static Work prune(Team& team, const Round&) {
    if (team.lead_boxes_.has_all()) team.parts_.housekeeping.prune_now_and_then();
    return {};
  }

  /// Only a scan of the whole inbox shows which entries may go.
  static Work compact(Team& team, const Round&) {
    const bool is_due =
        team.lead_boxes_.has_all() && team.role_keeper_.is_alone() && team.parts_.housekeeping.is_compaction_due();
    return is_due && !team.retired_ ? compact_now(team) : Work();
  }

 private:
  static Work compact_now(Team& team) {
    std::function<bool()> may_write = [&team] { return !team.retired_ && team.role_keeper_.is_alone(); };
    if (co_await team.parts_.housekeeping.compact(std::move(may_write))) team.lead_boxes_.read_again();
  }
};

// The order is part of what is promised: requests before orders, letters before the lead's box, answers of others
// before the requests, effects after decisions.
const Team::Stage Team::stages[] = {
    {"hand over to another node", anybody, Stage::each, Stages::hand_over},
    {"ends told by nodes", anybody, Stage::each, Stages::run_ends},
    {"carry between nodes", any_of(carry), Stage::each, Stages::carry},
    {"letters to the lead", any_of(read_inbox), Stage::changed, Stages::read_letters},
    {"workers' boxes", anybody, Stage::changed, Stages::read_workers_first},
    {"the lead's box", any_of(read_inbox), Stage::changed, Stages::read_lead},
    {"workers' boxes of a node", anybody, Stage::changed, Stages::read_workers_of_node},
    {"requests that are due", anybody, Stage::each, Stages::run_requests},
    {"leases that are due", anybody, Stage::each, Stages::run_delivery},
    {"the lead's aliases", any_of(take), Stage::changed, Stages::read_aliases},
    {"ends of workers' turns", any_of(read_inbox), Stage::each, Stages::run_turn_ends},
    {"orders", any_of(order), Stage::changed, Stages::run_orders},
    {"reminders of plans", any_of(order), Stage::changed, Stages::run_plans},
    {"wishes to stop", any_of(shut_down), Stage::changed, Stages::grant_stops},
    {"shutdowns", any_of(shut_down, end_here), Stage::each, Stages::run_shutdowns},
    {"requests of who was ended", any_of(shut_down, end_here), Stage::each, Stages::close_requests_of_ended},
    {"tasks", any_of(write), Stage::each, Stages::run_tasks},
    {"effects", any_of(write, carry), Stage::each, Stages::carry_out},
    {"word to whoever hands over", anybody, Stage::each, Stages::tell_of_chat},
    {"old rows", anybody, Stage::changed, Stages::prune},
    {"old entries of the lead's box", anybody, Stage::changed, Stages::compact},
};

asio::awaitable<Team::Polled> Team::poll() {
  Round round{.turn_ended = Stages::begin_turn_ends(*this)};
  co_await mailbox().sync();
  if (const auto end = begin(round)) co_return *end;
  for (const auto& stage : stages) {
    if (!stage.is_due(round, context_.membership)) continue;
    if (auto work = stage.run(*this, round); work.valid()) co_await std::move(work);
  }
  co_return Polled::served;
}

std::optional<Team::Polled> Team::begin(Round& round) {
  const bool all = pace_.takes_all_boxes() || round.turn_ended;
  mailbox().use_notifications(!all);
  const auto seen = roster_.look();
  if (seen == RosterKeeper::Seen::no_team) return Polled::no_team;
  const bool is_checked = seen != RosterKeeper::Seen::as_before;
  if (is_checked) {
    if (!Stages::has_ledger(*this)) return Polled::served;
    role_keeper_.check_lead_process();
    if (!retired_ && context_.may(mend_roster)) roster_.mend(parts_.shutdowns.leaving());
  }
  if (seen == RosterKeeper::Seen::unreadable) return Polled::served;
  role_keeper_.follow_lease(retired_);
  role_keeper_.check_lead_session();
  lead_boxes_.follow_role();
  round.boxes = mailbox().ready_boxes();
  round.rests = !pace_.is_whole(!all && !is_checked && round.boxes && mailbox().is_idle() && lead_boxes_.is_idle() &&
                                changes_ == services_.ledger.changes());
  const bool acts = !is_checked && Stages::acts_without_commit(*this, round);
  if (acts && !Stages::has_ledger(*this)) return Polled::served;
  return std::nullopt;
}

}  // namespace inbox_poller::poller
