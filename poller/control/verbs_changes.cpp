// The verb `changes`: answers once something has changed since a version that the client knows.
#include <boost/json/array.hpp>

#include "poller/control/long_poll.hpp"
#include "poller/control/verbs.hpp"
#include "schema/operations/order.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr std::size_t most_watchers = 100;  // of the connections there are: the others are for who has something to do

/// The areas that a request names, all where it names none; nothing when one of them is not known.
Areas areas_of(const json::object& request) {
  const auto* names = request.if_contains("of");
  if (names == nullptr) return all_areas;
  Areas areas = 0;
  if (!names->is_array()) return areas;
  for (const auto& name : names->get_array()) {
    const auto area = name.is_string() ? schema::parse<Area>(name.get_string()) : std::nullopt;
    if (!area) return 0;
    areas |= only(*area);
  }
  return areas;
}

}  // namespace

asio::awaitable<json::object> Verbs::changes(Object request, SessionPtr session) {
  auto& changes = services_.changes;
  const Areas wanted = areas_of(request);
  if (wanted == 0)
    co_return refuse("request.invalid", "`of` must be a list of: asks, workers, chat, teams, shutdowns");
  if (changes.listeners() >= most_watchers)
    co_return refuse("control.busy", "as many wait for changes as may: " + std::to_string(most_watchers));
  const auto since = number(request, "since").value_or(0);
  LongPoll poll(services_, session, request);
  for (;;) {
    poll.look();
    const Areas changed = changes.since(since) & wanted;
    if (poll.is_gone()) co_return refuse("control.closed", "the daemon is ending, or who waited went away");
    if (changed != 0 || poll.is_over()) {
      operations::Changed told{operations::number_of(changes.version()), {}};
      for (const Area area : schema::values<Area>)
        if ((changed & only(area)) != 0) told.changed.emplace_back(to_string(area));
      co_return done(told);
    }
    co_await poll.next();
  }
}

}  // namespace inbox_poller::poller
