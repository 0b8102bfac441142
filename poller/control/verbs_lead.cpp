// The verbs of the lead session and its programs: `attach`, `recv`, `ack`, `lead`.
#include <algorithm>
#include <chrono>

#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"
#include "poller/delivery/pending_fetch.hpp"
#include "poller/pause.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using std::chrono::milliseconds;

constexpr milliseconds held_lease = std::chrono::minutes(10);
constexpr milliseconds recv_look{50};
constexpr milliseconds longest_span = std::chrono::hours(24);
constexpr milliseconds hook_is_late{2000};  // it leaves after a second, and a machine may be slow

std::string names_of_events() {
  std::string names;
  for (const auto event : schema::values<LeadEvent>)
    names += (names.empty() ? "" : ", ") + std::string(to_string(event));
  return names;
}

/// Conditions for this connection: its attached delivery method, or manual without one.
FetchOptions fetch_options(const arguments::Recv& request, const ControlSession& session) {
  FetchOptions fetch;
  fetch.max = static_cast<std::size_t>(std::clamp<long long>(request.max, 1, 1000));
  fetch.ignore_busy = request.ignore_busy;
  if (request.hold) fetch.lease = held_lease;
  const auto method = schema::parse<config::DeliveryMethod>(session.method);
  fetch.by_hand = !method;
  fetch.method = method.value_or(config::DeliveryMethod::socket);
  fetch.receiver = method ? session.method : "recv";
  if (method == config::DeliveryMethod::hook)
    fetch.most_text = schema::longest_hook_text - schema::handed_over("").size();
  return fetch;
}

/// True for methods whose client must call recv itself; without one, messages would wait forever.
bool is_asked_for(config::DeliveryMethod method) { return method == config::DeliveryMethod::mcp || method == config::DeliveryMethod::channel; }

bool names(const config::DeliverySettings& delivery, config::DeliveryMethod method) {
  return std::find(delivery.methods.begin(), delivery.methods.end(), method) != delivery.methods.end();
}

bool may_be_several(config::DeliveryMethod method) { return method == config::DeliveryMethod::socket || method == config::DeliveryMethod::mcp; }

/// Attaches a receiver while it waits, and detaches it while its lead works on the messages.
class WhileWaiting {
 public:
  WhileWaiting(std::shared_ptr<Team> team, bool stands) : team_(stands ? std::move(team) : nullptr) {
    if (team_) team_->delivery().routes().attach(config::DeliveryMethod::mcp);
  }
  WhileWaiting(const WhileWaiting&) = delete;
  WhileWaiting& operator=(const WhileWaiting&) = delete;
  ~WhileWaiting() {
    if (team_) team_->delivery().routes().detach(config::DeliveryMethod::mcp);
  }

 private:
  std::shared_ptr<Team> team_;
};

/// Records the end of a turn that only the waiting hook has reported: the other hook was late.
void hear_of_end(Team& team, HookTalk& talk) {
  auto& delivery = team.delivery();
  if (!talk.ended) return;
  const bool is_news = delivery.lead().reports() != talk.heard || delivery.lead().state() != LeadState::busy;
  if (!is_news && team.context().clock.steady() - *talk.ended < hook_is_late) return;
  talk.ended.reset();
  if (!is_news) static_cast<void>(delivery.lead().report(LeadEvent::turn_stops));
}

}  // namespace

asio::awaitable<Result<operations::Attached>> Verbs::attach(TeamPtr team, arguments::Attach request,
                                                            SessionPtr session) {
  const auto method = schema::parse<config::DeliveryMethod>(request.method.bytes);
  if (!method || handlers::is_pushed(*method))
    co_return Error{"request.invalid", "`method` must be one of mcp, stdin, hook, channel, socket"};
  if (!session->method.empty()) co_return Error{"request.invalid", "this connection is attached already"};
  if (method == config::DeliveryMethod::hook) {
    CO_TRY(attach_hook(team, request, session));
  } else if (is_asked_for(*method) && !names(team->context().config.delivery, *method)) {
    co_return Error{"request.not_applicable", "delivery.methods of team " + team->context().name + " does not name \"" +
                                                  std::string(config::to_string(*method)) +
                                                  "\", so nothing goes this way: add it there"};
  } else if (!may_be_several(*method) && team->delivery().routes().is_attached(*method)) {
    co_return Error{"lead.attached", "another process holds the lead's " + std::string(config::to_string(*method)) +
                                         " in team " + team->context().name + "; there can be one"};
  }
  session->method = config::to_string(*method);
  if (method != config::DeliveryMethod::mcp) team->delivery().routes().attach(*method);  // mcp attaches only while a recv waits
  session->on_close.push_back([team, method = *method, talk = session->hook] {
    if (method != config::DeliveryMethod::mcp && (!talk || !talk->replaced)) team->delivery().routes().detach(method);
    // Its end would have been reported; the lead's standard input closes with its program.
    if (method == config::DeliveryMethod::stdin_stream && team->delivery().lead().state() != LeadState::offline)
      static_cast<void>(team->delivery().lead().report(LeadEvent::disconnects));
  });
  team->wake();
  co_return operations::Attached{team->context().name, team->context().lead, session->method,
                                 to_string(team->delivery().lead().state()), team->context().config.lead.permissions};
}

asio::awaitable<Result<operations::Received>> Verbs::receive(TeamPtr team, arguments::Recv request,
                                                             SessionPtr session) {
  const auto wait = std::clamp(milliseconds(request.wait_ms), milliseconds(0), longest_span);
  const auto fetch = fetch_options(request, *session);
  const bool waits = fetch.method == config::DeliveryMethod::hook && !fetch.by_hand;
  auto taken = taken_with(*team, fetch, request.acked);
  if (!taken.empty() && (session->closed || team->retired() || (waits && session->hook->replaced))) {
    CO_TRY(team->delivery().acknowledge(taken));
    taken.clear();
  }
  const WhileWaiting stands(team, fetch.method == config::DeliveryMethod::mcp);
  const auto deadline = services_.clock.steady() + wait;
  std::vector<LeasedMessage> messages;
  for (;;) {
    if (session->closed) co_return Error{"control.closed", "the receiver went away"};
    if (team->retired())
      co_return Error{"team.unknown",
                      "team \"" + team->context().name + "\" is not served any more; its messages are kept"};
    const auto seen = team->chat().count();
    if (waits && session->hook->replaced)
      co_return Error{"lead.attached", "a hook of the lead's newer session waits in its place"};
    if (waits) hear_of_end(*team, *session->hook);
    // Acknowledgment and offer share one transaction: one fsync.
    CO_TRY(messages, team->delivery().offer(fetch, std::exchange(taken, {})));
    if (!messages.empty() || services_.clock.steady() >= deadline) break;
    std::optional<PendingFetch> taker;
    if (!waits) taker.emplace(team->delivery(), fetch);
    co_await team->chat().wait(seen, recv_look);
    if (taker) messages = taker->fetch();
    if (messages.empty()) continue;
    if (!session->closed && !team->retired()) break;
    team->delivery().return_unseen(std::exchange(messages, {}), "the receiver went away");
  }
  if (!messages.empty() && waits)
    hold_for_hook(team, *session, hook_offer(*team, handlers::OfferingHook::wait, session->hook->session, messages));
  else if (!messages.empty() && !fetch.lease)
    hold_for_session(team, session, messages);
  if (!messages.empty() && !fetch.by_hand && !may_be_several(fetch.method))
    static_cast<void>(team->delivery().lead().report(LeadEvent::batch_pushed));
  CO_TRY(const auto held, services_.ledger.deliveries().queued_count(team->context().name));
  operations::Received received{{}, held, to_string(team->delivery().lead().state()), {}};
  for (const auto& message : messages) received.messages.push_back(message_view(message));
  if (request.block) received.block = block(messages);
  co_return received;
}

void Verbs::hold_for_session(const TeamPtr& team, const SessionPtr& session, const std::vector<LeasedMessage>& messages) {
  auto& leases = team->delivery().leases();
  if (!session->leased || session->leased->team.lock() != team) {
    const auto holder = leases.enter();
    session->leased = std::make_shared<LeaseHolder>(LeaseHolder{team, holder});
    session->on_close.push_back(
        [team, holder] { team->delivery().requeue(team->delivery().leases().leave(holder)); });
  }
  leases.hold(session->leased->holder, messages);
}

std::vector<std::string> Verbs::taken_with(Team& team, const FetchOptions& fetch, const std::string& key) const {
  if (key.empty()) return {};
  const auto& leases = team.delivery().leases();
  // Several programs may follow; what one of them got says nothing about the others.
  const bool several = fetch.method == config::DeliveryMethod::socket && !fetch.by_hand;
  return several ? leases.taken_by_holder(key) : leases.taken_by_method(fetch.receiver, key);
}

Result<operations::Acknowledged> Verbs::acknowledge(const arguments::Ack& request) {
  const auto how = request.assumed ? Confirmation::assumed : Confirmation::acknowledged;
  std::size_t count = 0;
  for (const auto& team : all_served(request.team)) {
    TRY(const auto acknowledged, team->delivery().acknowledge(*request.keys, how));
    count += acknowledged;
  }
  return operations::Acknowledged{operations::number_of(count)};
}

Result<operations::LeadOfTeam> Verbs::lead(Team& team, const arguments::Lead& request) {
  std::optional<LeadEvent> event;
  if (const auto& state = request.state.bytes; !state.empty()) {
    event = schema::parse<LeadEvent>("reports_" + state);
    if (!event)
      return Error{"request.invalid", "\"" + state + "\" cannot be a lead's state; use busy, idle or offline"};
  } else if (const auto& name = request.event; !name.empty()) {
    event = schema::parse<LeadEvent>(name);
    if (!event) return Error{"request.invalid", "\"" + name + "\" is not an event; use one of " + names_of_events()};
  }
  if (event) {
    std::optional<config::Duration> limit;
    if (request.for_ms > 0) limit = std::min<milliseconds>(milliseconds(request.for_ms), longest_span);
    const LeadSession session{request.session, {}};
    TRY(team.delivery().lead().report(*event, limit, &session));
    team.wake();
  }
  const auto& settings = team.context().config.lead;
  return operations::LeadOfTeam{lead_view(team), team.context().name, settings.permissions, settings.mcp_tools};
}

}  // namespace inbox_poller::poller
