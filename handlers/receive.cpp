#include "handlers/receive.hpp"

#include <algorithm>

namespace inbox_poller::handlers {
namespace {

bool is_full(const Arrival& arrival, const TeamView& view) {
  return arrival.queued >= static_cast<long long>(view.config.limits.queued_chat);
}

/// Returns why one more message of this sender does not fit; empty if it does.
std::string no_room(const Arrival& arrival, const TeamView& view) {
  if (is_full(arrival, view)) return "limits.queued_chat is reached";
  const auto senders = std::max<std::size_t>(2, view.roster.members.size()) - 1 + view.config.delivery.allowed_senders.size();
  const long long all = view.config.limits.queued_chat;
  const auto share = std::max<long long>(1, all / static_cast<long long>(senders));
  if (arrival.of_sender < share) return {};
  return std::string(arrival.sender) + " has its share of limits.queued_chat (" + std::to_string(share) +
         ") in the queue";
}

Reception passed_by(const Membership& membership) {
  return {Reception::What::left, Lane::none, left_reason(membership)};
}

}  // namespace

std::string left_reason(const Membership& membership) {
  return "left to the lead, which consumes this inbox itself (role " + std::string(to_string(membership.role)) + ")";
}

Reception receive(const ToLead&, const Arrival& arrival, const TeamView& view) {
  using What = Reception::What;
  if (!view.membership.may(Right::take)) return passed_by(view.membership);
  if (arrival.was_read) return {What::already_read, Lane::none, "was already marked read when it was first seen"};
  if (auto why = no_room(arrival, view); !why.empty()) return {What::stays, Lane::none, std::move(why)};
  const auto& urgent = view.config.delivery.urgent;
  const bool hurries = std::find(urgent.begin(), urgent.end(), arrival.sender) != urgent.end();
  return {What::accepted, hurries ? Lane::urgent : Lane::chat, {}};
}

Reception receive(const WorkerStatus& status, const Arrival& arrival, const TeamView& view) {
  if (!view.membership.may(Right::take)) return passed_by(view.membership);
  Reception taken;
  if (arrival.was_read) return taken;
  if (status.to_lead && !is_full(arrival, view))
    taken.lane = status.went_wrong ? Lane::urgent : Lane::chat;
  else if (status.in_digest)
    taken.lane = Lane::digest;
  return taken;
}

Reception receive(const Refused& refused, const Membership& membership) {
  if (!membership.may(Right::take)) return passed_by(membership);
  return {Reception::What::accepted, Lane::none, refused.reason};
}

std::string_view why_leads(bool was_answered, bool was_read, const Membership& membership) {
  if (was_answered) return "the lead had answered it before we read it";
  return was_read && !membership.may(Right::take) ? "the lead had read it before we did" : "";
}

Repeat repeated(const Membership& membership, bool by_rule, const AnswerAuthority& authority) {
  if (!membership.may(Right::answer_by_rule)) return Repeat::left;
  if (!membership.may(Right::take) && (!by_rule || !authority.counts())) return Repeat::left;
  return authority.counts() ? Repeat::answered : Repeat::told;
}

bool is_moot(const Request& open, const WorkerStatus& status, std::string_view sender, const Membership& membership) {
  return open.asker == sender && open.kind != RequestKind::plan && status.state != WorkerReport::assigned &&
         (open.deadline_ms == 0 || !membership.may(Right::take));
}

Again met_again(const Membership& membership, const Met& met) {
  if (!membership.may(Right::mark_answered)) return Again::nothing;
  if (!membership.may(Right::take)) return met.by_rule && !met.left ? Again::ours_to_mark : Again::nothing;
  return met.left && met.unsent ? Again::adopted : Again::nothing;
}

bool may_mark(const Membership& membership, bool by_rule) {
  return membership.may(Right::take) || (by_rule && membership.may(Right::mark_answered));
}

}  // namespace inbox_poller::handlers
