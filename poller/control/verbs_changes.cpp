// The verb `changes`: answers once something has changed since a version that the client knows.
#include "poller/control/long_poll.hpp"
#include "poller/control/verbs.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::size_t most_watchers = 100;  // connections that may wait; the others remain for commands

/// Parses the areas of a request, all if it names none; empty when one is unknown.
Areas areas_of(const arguments::Changes& request) {
  if (request.of.empty()) return all_areas;
  Areas areas = 0;
  for (const auto& name : request.of) {
    const auto area = schema::parse<Area>(name.bytes);
    if (!area) return 0;
    areas |= only(*area);
  }
  return areas;
}

}  // namespace

asio::awaitable<Result<operations::Changed>> Verbs::changes(arguments::Changes request, SessionPtr session) {
  auto& changes = services_.changes;
  const Areas wanted = areas_of(request);
  if (wanted == 0)
    co_return Error{"request.invalid", "`of` must be a list of: requests, workers, chat, teams, shutdowns"};
  if (changes.listeners() >= most_watchers)
    co_return Error{"control.busy", "as many wait for changes as may: " + std::to_string(most_watchers)};
  LongPoll poll(services_, session, LongPoll::Span(request.wait_ms));
  for (;;) {
    poll.look();
    const Areas changed = changes.since(request.since) & wanted;
    if (poll.is_gone()) co_return Error{"control.closed", "the daemon is ending, or who waited went away"};
    if (changed != 0 || poll.is_over()) {
      operations::Changed told{operations::number_of(changes.version()), {}};
      for (const Area area : schema::values<Area>)
        if ((changed & only(area)) != 0) told.changed.emplace_back(to_string(area));
      co_return told;
    }
    co_await poll.next();
  }
}

}  // namespace inbox_poller::poller
