// The verb `decisions`: who decided what, when and by which rule.
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"

namespace inbox_poller::poller {
namespace {

constexpr int most_decisions = 10'000;

}  // namespace

boost::json::object Verbs::decisions(const Object& request) {
  const int limit = limit_of(request);
  const auto member = text(request, "member");
  // One member's are picked out here: what one of many asked may lie far back.
  const auto rows = services_.ledger.asks().decisions(text(request, "team"), number(request, "since_ms").value_or(0),
                                                      member.empty() ? limit : most_decisions);
  if (!rows) return refuse(rows.error());
  operations::Decisions list;
  for (const auto& [team, decided] : *rows) {
    if (!member.empty() && decided.asker != member) continue;
    if (list.decisions.size() == static_cast<std::size_t>(limit)) break;
    list.decisions.push_back(ask_view(team, decided));
  }
  return done(list);
}

}  // namespace inbox_poller::poller
