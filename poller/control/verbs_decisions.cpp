// The verb `decisions`: who decided what, when and by which rule.
#include <boost/json/array.hpp>

#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

constexpr int most_decisions = 10'000;

}  // namespace

json::object Verbs::decisions(const Object& request) {
  const int limit = limit_of(request);
  const auto member = text(request, "member");
  // One member's are picked out here: what one of many asked may lie far back.
  const auto rows = services_.ledger.asks().decisions(text(request, "team"), number(request, "since_ms").value_or(0),
                                                      member.empty() ? limit : most_decisions);
  if (!rows) return refuse(rows.error());
  json::array list;
  for (const auto& [team, decided] : *rows) {
    if (!member.empty() && decided.asker != member) continue;
    if (list.size() == static_cast<std::size_t>(limit)) break;
    list.push_back(request_view(team, decided));
  }
  return {{"ok", true}, {"decisions", std::move(list)}};
}

}  // namespace inbox_poller::poller
