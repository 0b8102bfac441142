// The verb `decisions`: lists decisions with their time, decider and rule.
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"

namespace inbox_poller::poller {
namespace {

constexpr int most_decisions = 10'000;

}  // namespace

Result<operations::Decisions> Verbs::decisions(const arguments::Decisions& request) {
  const int limit = limit_of(request);
  const auto& member = request.member;
  // Filter by member here, because one member's rows may lie far back.
  TRY(const auto rows,
      services_.ledger.requests().decisions(request.team, request.since_ms, member.empty() ? limit : most_decisions));
  operations::Decisions list;
  for (const auto& [team, decided] : rows) {
    if (!member.empty() && decided.asker != member) continue;
    if (list.decisions.size() == static_cast<std::size_t>(limit)) break;
    list.decisions.push_back(request_view(team, decided));
  }
  return list;
}

}  // namespace inbox_poller::poller
