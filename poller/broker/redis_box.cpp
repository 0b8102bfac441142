#include "poller/broker/redis_box.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "poller/broker/redis_scripts.hpp"
#include "schema/decimal.hpp"

namespace inbox_poller::poller {

namespace asio = boost::asio;
namespace json = boost::json;
using schema::Envelope;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds an_offer{10'000};  // idle time after which a lease counts as abandoned
constexpr milliseconds between_touches{3'000};
constexpr milliseconds one_bell{5'000};
constexpr milliseconds longest_rest{30'000};
constexpr milliseconds away_rest{500};
constexpr milliseconds away_at_most{30'000};
constexpr milliseconds looking_patience{0};  // recv() waits and tries again itself
constexpr milliseconds closing_patience{500};
constexpr const char* sent_mark_ms = "604800000";  // 7 days
constexpr const char* taken_kept_ms = "604800000";

}  // namespace

// --- the bell

struct RedisBell::Listener {
  Listener(const asio::any_io_executor& executor, const config::RedisAddress& address, std::string of,
           std::function<void()> rings)
      : connection(executor, address), resting(executor), stream(std::move(of)), ring(std::move(rings)) {}

  RedisConnection connection;
  asio::steady_timer resting;
  const std::string stream;
  std::function<void()> ring;
  std::string behind;
  bool is_over = false;

  static asio::awaitable<void> listen(std::shared_ptr<Listener> self) {
    while (!self->is_over) {
      RedisCommand read{"XREAD", "COUNT", "1", "BLOCK", std::to_string(one_bell.count()), "STREAMS", self->stream, self->behind};
      const auto reply = co_await self->connection.call(std::move(read), one_bell * 3);
      if (self->is_over) co_return;
      const std::string id = reply ? reply->at(0).at(1).at(0).at(0).text : std::string();
      if (!id.empty()) self->behind = id;
      if (!reply && reply.error().code != "redis.down") {  // no wakeups then; recv() polls instead
        self->resting.expires_after(longest_rest);
        boost::system::error_code woken;
        co_await self->resting.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      }
      if ((!reply || !id.empty()) && !self->is_over) self->ring();
    }
  }
};

RedisBell::RedisBell(asio::any_io_executor executor, config::RedisAddress address, std::string stream,
                     std::function<void()> ring)
    : executor_(executor), make_([=] { return std::make_shared<Listener>(executor, address, stream, ring); }) {}

RedisBell::~RedisBell() { rest(); }

void RedisBell::listen(const std::string& behind) {
  if (listener_ || behind.empty()) return;
  listener_ = make_();
  listener_->behind = behind;
  asio::co_spawn(executor_, Listener::listen(listener_), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

void RedisBell::rest() {
  if (!listener_) return;
  listener_->is_over = true;
  listener_->ring = [] {};
  listener_->connection.interrupt();
  listener_->resting.cancel();
  listener_.reset();
}

// --- the inbox

RedisBox::RedisBox(const config::RedisAddress& address, const std::string& actor, const Clock& clock,
                   asio::any_io_executor executor, milliseconds patience, TaskSettings settings)
    : SharedBox(actor, tasks_),
      address_(address),
      clock_(clock),
      keys_(address.team),
      place_(address.shown()),
      stream_(keys_.stream(actor, RedisKeys::shared_box)),
      patience_(patience),
      redis_(address, patience),
      tasks_(redis_, keys_, place_, settings),
      executor_(executor),
      keeper_(executor),
      bell_(executor, address, stream_, [this] { wake(); }) {}

Result<std::unique_ptr<RedisBox>> RedisBox::open(const config::RedisAddress& address, const std::string& actor,
                                                 const Clock& clock, asio::any_io_executor executor,
                                                 milliseconds patience, TaskSettings settings) {
  TRY(require_actor_name(actor));
  if (address.team.empty())
    return Error{"redis.address", "which team's mail is it? Its name stands behind a #, as in " + address.shown() + "#team"};
  std::unique_ptr<RedisBox> made(new RedisBox(address, actor, clock, std::move(executor), patience, settings));
  TRY(made->redis_.call(RedisCommand{"PING"}));
  return made;
}

RedisBox::~RedisBox() {
  bell_.rest();
  if (offers_.empty()) return;
  redis_.set_patience(closing_patience);
  std::vector<std::string> ids;
  for (const auto& [ticket, id] : offers_) ids.push_back(id);
  (void)touch(true, ids);  // otherwise the leases expire after 10 s
}

Status RedisBox::make() {
  const auto made = redis_.call(RedisCommand{"SADD", keys_.of("boxes"), actor()});
  return made ? Status(Done{}) : Status(made.error());
}

Result<Sent> RedisBox::send(const MessageDraft& draft) {
  TRY(require_sendable(draft));
  last_ns_ = std::max(clock_.system_ns(), last_ns_ + 1);
  const std::string id = fresh_id();
  const Envelope message = message_of(actor(), draft, id, schema::seconds_token(last_ns_));
  const std::string bytes = message.encode();
  TRY(require_size_of(bytes));
  const std::string node(RedisKeys::shared_box);
  TRY(const auto put,
      redis_.call(scripts::send(), {keys_.mark(node, draft.to, id), keys_.stream(draft.to, node), keys_.of("boxes")},
                  {draft.to, actor(), sent_mark_ms, "k", id, "f", actor(), "y", draft.type, "q", draft.in_reply_to, "e",
                   bytes, "t", std::to_string(last_ns_ / 1'000'000), "s", schema::seconds_token(last_ns_)}));
  std::vector<std::string> others;
  for (std::size_t i = 2; i < put.parts.size(); ++i) others.push_back(put.at(i).text);
  return sent(message, put.at(0).as_number() == 2, others);
}

/// Wakes the latest waiter first, as the folder does.
void RedisBox::wake() {
  for (auto one = waiting_.rbegin(); one != waiting_.rend(); ++one) (*one)->cancel();
}

Result<RedisBox::Found> RedisBox::offer(const Filter& filter, const std::string& call) {
  const auto reply =
      redis_.call(scripts::offer(), {stream_, keys_.of("boxes"), call},
                  {actor(), std::to_string(an_offer.count()), filter.type ? "1" : "0", filter.type.value_or(""),
                   filter.reply_to ? "1" : "0", filter.reply_to.value_or("")});
  if (!reply) return reply.error();
  if (reply->at(0).as_number() == 0) return Found{{}, milliseconds(reply->at(1).as_number()), reply->at(2).text};
  const std::string id = reply->at(1).text;
  const auto attempts = static_cast<std::uint32_t>(std::clamp(reply->at(2).as_number(), 1LL, 1000LL));
  auto envelope = Envelope::decode(reply->at(3).text);
  if (!envelope) envelope = Envelope().set("id", "").set("type", "unreadable").set("payload", reply->at(3).text);
  HandOut out{envelope->object(), attempts, std::to_string(++next_ticket_)};
  if (attempts > 1) out.message["attempts"] = attempts;
  offers_.emplace(out.ticket, id);
  if (offers_.size() == 1) keep_offers();
  return Found{std::move(out), {}, {}};
}

/// Renews the leases of `ids`, or ends them with `is_free`. Errors: "redis.*".
Status RedisBox::touch(bool is_free, const std::vector<std::string>& ids) {
  RedisCommand claim{"XCLAIM", stream_, "g", actor(), "0"};
  claim.insert(claim.end(), ids.begin(), ids.end());
  if (is_free) claim.insert(claim.end(), {"TIME", "0"});
  claim.emplace_back("JUSTID");
  const auto touched = redis_.call(claim);
  return touched ? Status(Done{}) : Status(touched.error());
}

void RedisBox::keep_offers() {
  keeper_.expires_after(between_touches);
  keeper_.async_wait([this, alive = std::weak_ptr<int>(alive_)](const boost::system::error_code& ended) {
    if (ended || alive.expired() || offers_.empty()) return;
    std::vector<std::string> ids;
    for (const auto& [ticket, id] : offers_) ids.push_back(id);
    redis_.set_patience(looking_patience);
    (void)touch(false, ids);  // a lease that is not renewed expires; its message is redelivered, marked as a repeat
    redis_.set_patience(patience_);
    keep_offers();
  });
}

asio::awaitable<Result<std::optional<HandOut>>> RedisBox::recv(Filter filter, milliseconds within) {
  struct Waits {
    RedisBox& box;
    asio::steady_timer timer;
    std::list<asio::steady_timer*>::iterator place;
    explicit Waits(RedisBox& of) : box(of), timer(of.executor_), place(of.waiting_.insert(of.waiting_.end(), &timer)) {}
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;
    ~Waits() {
      box.waiting_.erase(place);
      if (box.waiting_.empty()) box.bell_.rest();
    }
  };
  Waits waits(*this);
  const std::string call = keys_.of("offer:" + fresh_id());  // the same for each try, because an answer may be lost
  const auto until = steady_clock::now() + within;
  auto away_since = steady_clock::time_point::max();
  for (;;) {
    redis_.set_patience(within.count() > 0 ? looking_patience : patience_);
    auto look = offer(filter, call);
    redis_.set_patience(patience_);
    const auto now = steady_clock::now();
    if (look && look->offered) co_return std::move(look->offered);
    if (look) away_since = steady_clock::time_point::max();
    if (!look) {
      away_since = std::min(away_since, now);
      if (look.error().code != "redis.down" || now - away_since >= away_at_most || now >= until)
        co_return look.error();
    }
    if (now >= until) co_return std::optional<HandOut>();
    auto rest = look ? look->again : away_rest;
    if (look) bell_.listen(look->last);
    if (rest.count() < 0) rest = longest_rest;
    waits.timer.expires_at(std::min(until, now + std::clamp(rest, milliseconds(1), longest_rest)));
    boost::system::error_code woken;
    co_await waits.timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if ((co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none)
      co_return std::optional<HandOut>();
  }
}

Status RedisBox::acknowledge(const std::string& ticket) {
  const auto offer = offers_.find(ticket);
  if (offer == offers_.end()) return Done{};
  TRY(redis_.call(scripts::take(), {stream_}, {offer->second, taken_kept_ms}));
  offers_.erase(offer);
  return Done{};
}

void RedisBox::requeue(const std::string& ticket) {
  const auto offer = offers_.find(ticket);
  if (offer == offers_.end()) return;
  const std::vector<std::string> id{offer->second};
  offers_.erase(offer);
  (void)touch(true, id);  // otherwise the lease expires after 10 s
  wake();
}

Result<json::object> RedisBox::inbox() {
  TRY(const auto found, redis_.call(scripts::look(), {stream_}, {std::to_string(most_listed)}));
  TRY(const auto counts, tasks_.counts());
  TRY(const auto mine, tasks_.held_by(actor()));
  std::vector<ListedMessage> messages;
  for (std::size_t i = 1; i < found.parts.size(); ++i) {
    ListedMessage one;
    const auto& fields = found.at(i).parts;
    for (std::size_t at = 0; at + 1 < fields.size(); at += 2) {
      const std::string& name = fields[at].text;
      const std::string& value = fields[at + 1].text;
      if (name == "k") one.id = value;
      if (name == "f") one.from = value;
      if (name == "y") one.type = value;
      if (name == "s") one.ts = schema::read_decimal(value).value_or(0);
    }
    messages.push_back(std::move(one));
  }
  return inbox_answer(actor(), static_cast<std::size_t>(std::max(found.at(0).as_number(), 0LL)), messages, counts, mine);
}

}  // namespace inbox_poller::poller
