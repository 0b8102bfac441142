// The verb `wait`: answers once a team has reached a requested state, such as all its workers being idle.
#include <chrono>

#include "handlers/team_point.hpp"
#include "poller/control/long_poll.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::TeamPoint;
using operations::number_of;
using std::chrono::milliseconds;

constexpr milliseconds point_look{500};  // changes by time alone raise no signal

/// Parses the requested states; empty when one of them is unknown.
std::vector<TeamPoint> points_of(const arguments::Wait& request) {
  std::vector<TeamPoint> points;
  for (const auto& name : request.until) {
    const auto point = schema::parse<TeamPoint>(name.bytes);
    if (!point) return {};
    points.push_back(*point);
  }
  return points;
}

Result<handlers::TeamCounts> counts_of(Team& team, Runtime& services) {
  auto& context = team.context();
  handlers::TeamCounts counts;
  const auto now = services.clock.wall_ms();
  for (const auto& [name, member] : context.members) {
    const auto state = worker_state(team, member, now);
    counts.present += name != context.lead && state != handlers::WorkerState::gone ? 1 : 0;
    counts.working += name != context.lead && handlers::is_working(state) ? 1 : 0;
  }
  counts.shutdowns = team.shutdowns().open().size();
  counts.requests = team.requests().shown().size();
  TRY(const auto mail, services.ledger.deliveries().queued_count(context.name));
  counts.mail = static_cast<std::size_t>(mail);
  return counts;
}

/// Lists the workers that keep the team from being idle, and their activity.
std::vector<operations::Working> working_view(Team& team, EpochMs now) {
  std::vector<operations::Working> list;
  for (const auto& [name, member] : team.context().members)
    if (const auto state = worker_state(team, member, now); name != team.context().lead && handlers::is_working(state))
      list.push_back({name, handlers::to_string(state)});
  return list;
}

}  // namespace

asio::awaitable<Result<operations::Waited>> Verbs::wait(TeamPtr team, arguments::Wait request, SessionPtr session) {
  const auto points = points_of(request);
  if (points.empty())
    co_return Error{"request.invalid", "`until` must be a list of what to wait for: idle, closed, mail, answered"};
  LongPoll poll(services_, session, LongPoll::Span(request.wait_ms));
  for (;;) {
    if (poll.is_gone()) co_return Error{"control.closed", "the daemon is ending, or who waited went away"};
    if (team->retired())
      co_return Error{"team.unknown", "team \"" + team->context().name + "\" is not served any more"};
    poll.look();
    const bool of_the_lead =
        std::ranges::any_of(points, [](TeamPoint one) { return one == TeamPoint::answered || one == TeamPoint::mail; });
    if (of_the_lead && team->requests().led_elsewhere()) co_return not_leader(*team, "to wait for answers or mail");
    CO_TRY(const auto counts, counts_of(*team, services_));
    operations::Waited waited;
    for (const auto point : points)
      if (handlers::is_at(point, counts)) waited.met.emplace_back(handlers::to_string(point));
    waited.is_met = request.all ? waited.met.size() == points.size() : !waited.met.empty();
    if (waited.is_met || poll.is_over()) {
      waited.team = team->context().name;
      waited.working = working_view(*team, services_.clock.wall_ms());
      waited.present = number_of(counts.present);
      waited.requests = number_of(counts.requests);
      waited.mail = number_of(counts.mail);
      waited.shutdowns = number_of(counts.shutdowns);
      co_return waited;
    }
    co_await poll.next(point_look);
  }
}

}  // namespace inbox_poller::poller
