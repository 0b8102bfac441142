// The verbs of whoever is, or stands for, the lead session: `attach`, `recv`, `ack`, `lead`.
#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>

#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"
#include "poller/delivery/waiting_taker.hpp"
#include "poller/pause.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

using std::chrono::milliseconds;

constexpr milliseconds held_lease = std::chrono::minutes(10);
constexpr milliseconds recv_look{50};
constexpr milliseconds longest_span = std::chrono::hours(24);
constexpr milliseconds hook_is_late{2000};  // it leaves after a second, and a machine may be slow
constexpr std::size_t default_max = 20;

std::string names_of_events() {
  std::string names;
  for (const auto event : schema::values<LeadEvent>)
    names += (names.empty() ? "" : ", ") + std::string(to_string(event));
  return names;
}

/// What this connection takes: at its way, or, when it has attached at none, by hand.
Take take_of(const json::object& request, const ControlSession& session) {
  Take take;
  take.max = static_cast<std::size_t>(std::clamp<long long>(number(request, "max").value_or(default_max), 1, 1000));
  take.even_busy = flag(request, "even_busy");
  if (flag(request, "hold")) take.lease = held_lease;
  const auto way = schema::parse<config::Way>(session.way);
  take.by_hand = !way;
  take.way = way.value_or(config::Way::socket);
  take.sink = way ? session.way : "recv";
  if (way == config::Way::hook) take.most_text = schema::longest_hook_text - schema::handed_over("").size();
  return take;
}

/// The ways on which somebody has to come who was told to; a client that nobody hears of would wait for ever.
bool is_asked_for(config::Way way) { return way == config::Way::mcp || way == config::Way::channel; }

bool names(const config::DeliverySettings& delivery, config::Way way) {
  return std::find(delivery.via.begin(), delivery.via.end(), way) != delivery.via.end();
}

bool may_be_several(config::Way way) { return way == config::Way::socket || way == config::Way::mcp; }

/// A receiver that stands on its way while it waits, and not while its lead works on what it got.
class WhileWaiting {
 public:
  WhileWaiting(std::shared_ptr<Team> team, bool stands) : team_(stands ? std::move(team) : nullptr) {
    if (team_) team_->delivery().routes().attach(config::Way::mcp);
  }
  WhileWaiting(const WhileWaiting&) = delete;
  WhileWaiting& operator=(const WhileWaiting&) = delete;
  ~WhileWaiting() {
    if (team_) team_->delivery().routes().detach(config::Way::mcp);
  }

 private:
  std::shared_ptr<Team> team_;
};

/// Where a turn's end was told by nobody but the hook that waits since then, it has ended: the other hook was late.
void hear_of_end(Team& team, HookTalk& talk) {
  auto& delivery = team.delivery();
  if (!talk.ended) return;
  const bool is_news = delivery.lead().reports() != talk.heard || delivery.lead().state() != LeadState::busy;
  if (!is_news && team.context().clock.steady() - *talk.ended < hook_is_late) return;
  talk.ended.reset();
  if (!is_news) static_cast<void>(delivery.lead().report(LeadEvent::turn_stops));
}

}  // namespace

asio::awaitable<json::object> Verbs::attach(TeamPtr team, Object request, SessionPtr session) {
  const auto way = schema::parse<config::Way>(text(request, "rung"));
  if (!way || handlers::is_pushed(*way))
    co_return refuse("request.invalid", "`rung` must be one of mcp, stdin, hook, channel, socket");
  if (!session->way.empty()) co_return refuse("request.invalid", "this connection is attached already");
  if (way == config::Way::hook) {
    if (const Status may_wait = attach_hook(team, request, session); !may_wait) co_return refuse(may_wait.error());
  } else if (is_asked_for(*way) && !names(team->context().config.delivery, *way)) {
    co_return refuse("request.not_applicable", "delivery.via of team " + team->context().name + " does not name \"" +
                                                   std::string(config::to_string(*way)) +
                                                   "\", so nothing goes this way: add it there");
  } else if (!may_be_several(*way) && team->delivery().routes().is_attached(*way)) {
    co_return refuse("lead.attached", "another process holds the lead's " + std::string(config::to_string(*way)) +
                                          " in team " + team->context().name + "; there can be one");
  }
  session->way = config::to_string(*way);
  if (way != config::Way::mcp) team->delivery().routes().attach(*way);  // that one while a recv waits
  session->on_close.push_back([team, way = *way, talk = session->hook] {
    if (way != config::Way::mcp && (!talk || !talk->replaced)) team->delivery().routes().detach(way);
    // Its end would have been told; a host that dies takes the lead's standard input with it.
    if (way == config::Way::stdin_stream && team->delivery().lead().state() != LeadState::gone)
      static_cast<void>(team->delivery().lead().report(LeadEvent::disconnects));
  });
  team->poke();
  co_return done(operations::Attached{team->context().name, team->context().lead, session->way,
                                      to_string(team->delivery().lead().state()), team->context().config.lead.permissions});
}

asio::awaitable<json::object> Verbs::receive(TeamPtr team, Object request, SessionPtr session) {
  const auto wait =
      milliseconds(std::clamp<long long>(number(request, "wait_ms").value_or(0), 0, longest_span.count()));
  const auto take = take_of(request, *session);
  const bool waits = take.way == config::Way::hook && !take.by_hand;
  auto taken = taken_with(*team, take, text(request, "acked"));
  if (!taken.empty() && (session->closed || team->retired() || (waits && session->hook->replaced))) {
    if (const auto noted = team->delivery().acknowledge(taken); !noted) co_return refuse(noted.error());
    taken.clear();
  }
  const WhileWaiting stands(team, take.way == config::Way::mcp);
  const auto deadline = services_.clock.steady() + wait;
  std::vector<Offered> messages;
  for (;;) {
    if (session->closed) co_return refuse("control.closed", "the receiver went away");
    if (team->retired())
      co_return refuse("team.unknown",
                       "team \"" + team->context().name + "\" is no longer served; its messages are kept");
    const auto seen = team->chat().count();
    if (waits && session->hook->replaced)
      co_return refuse("lead.attached", "a hook of the lead's newer session waits in its place");
    if (waits) hear_of_end(*team, *session->hook);
    // What was taken is noted with what is offered instead: one wait for the disk.
    auto offered = team->delivery().offer(take, std::exchange(taken, {}));
    if (!offered) co_return refuse(offered.error());
    messages = std::move(*offered);
    if (!messages.empty() || services_.clock.steady() >= deadline) break;
    std::optional<WaitingTaker> taker;
    if (!waits) taker.emplace(team->delivery(), take);
    co_await team->chat().wait(seen, recv_look);
    if (taker) messages = taker->fetch();
    if (messages.empty()) continue;
    if (!session->closed && !team->retired()) break;
    team->delivery().unoffer(std::exchange(messages, {}), "the receiver went away");
  }
  if (!messages.empty() && waits)
    lend_to_hook(team, *session, hook_offer(*team, handlers::HookWay::wait, session->hook->session, messages));
  else if (!messages.empty() && !take.lease)
    lend(team, session, messages);
  if (!messages.empty() && !take.by_hand && !may_be_several(take.way))
    static_cast<void>(team->delivery().lead().report(LeadEvent::batch_pushed));
  const auto held = services_.ledger.deliveries().queued_count(team->context().name);
  if (!held) co_return refuse(held.error());
  operations::Received received{{}, *held, to_string(team->delivery().lead().state()), {}};
  for (const auto& message : messages) received.messages.push_back(message_view(message));
  const auto* wants_block = request.if_contains("block");
  if (wants_block == nullptr || *wants_block != json::value(false)) received.block = block(messages);
  co_return done(received);
}

void Verbs::lend(const TeamPtr& team, const SessionPtr& session, const std::vector<Offered>& messages) {
  auto& leases = team->delivery().leases();
  if (!session->lent || session->lent->team.lock() != team) {
    const auto holder = leases.enter();
    session->lent = std::make_shared<Borrower>(Borrower{team, holder});
    session->on_close.push_back(
        [team, holder] { team->delivery().give_back(team->delivery().leases().leave(holder)); });
  }
  leases.hold(session->lent->holder, messages);
}

std::vector<std::string> Verbs::taken_with(Team& team, const Take& take, const std::string& key) const {
  if (key.empty()) return {};
  const auto& leases = team.delivery().leases();
  // Several may follow: what one of them took says nothing of the others.
  const bool several = take.way == config::Way::socket && !take.by_hand;
  return several ? leases.taken_by_holder(key) : leases.taken_by_sink(take.sink, key);
}

json::object Verbs::acknowledge(const Object& request) {
  const auto* keys = request.if_contains("keys");
  if (keys == nullptr || !keys->is_array()) return refuse("request.invalid", "`keys` must be a list of message keys");
  const auto how = flag(request, "assumed") ? Confirmation::assumed : Confirmation::acknowledged;
  std::vector<std::string> wanted;
  for (const auto& key : keys->as_array())
    if (key.is_string()) wanted.emplace_back(key.as_string());
  std::size_t count = 0;
  for (const auto& team : all_served(text(request, "team"))) {
    const auto acknowledged = team->delivery().acknowledge(wanted, how);
    if (!acknowledged) return refuse(acknowledged.error());
    count += *acknowledged;
  }
  return done(operations::Acknowledged{operations::number_of(count)});
}

json::object Verbs::lead(Team& team, const Object& request) {
  std::optional<LeadEvent> event;
  if (const auto state = text(request, "state"); !state.empty()) {
    event = schema::parse<LeadEvent>("reports_" + state);
    if (!event)
      return refuse("request.invalid", "\"" + state + "\" is no state of a lead; states are busy, idle, gone");
  } else if (const auto name = text(request, "event"); !name.empty()) {
    event = schema::parse<LeadEvent>(name);
    if (!event) return refuse("request.invalid", "\"" + name + "\" is no event; events are " + names_of_events());
  }
  if (event) {
    std::optional<config::Duration> limit;
    if (const auto ms = number(request, "for_ms"); ms && *ms > 0)
      limit = std::min<milliseconds>(milliseconds(*ms), longest_span);
    const LeadSession session{text(request, "session"), {}};
    if (auto reported = team.delivery().lead().report(*event, limit, &session); !reported) return refuse(reported.error());
    team.poke();
  }
  const auto& settings = team.context().config.lead;
  return done(operations::LeadOfTeam{lead_view(team), team.context().name, settings.permissions, settings.mcp_tools});
}

}  // namespace inbox_poller::poller
