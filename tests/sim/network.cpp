#include "tests/sim/network.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace inbox_poller::sim {
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace inbox_poller::poller;

namespace {

constexpr Span deadline = seconds(3);  // of each call

Error down() { return Error{"redis.down", "the engine: no answer"}; }

}  // namespace

/// The connection of one node, in one life of its daemon.
class SimBroker final : public Broker {
 public:
  SimBroker(Network& network, const std::string& node, Fate& fate, asio::any_io_executor executor)
      : network_(network), node_(node), fate_(fate), inner_(network.engine(), node), waits_(executor),
        executor_(std::move(executor)) {}
  ~SimBroker() override { network_.waiting_.erase(this); }
  SimBroker(const SimBroker&) = delete;
  SimBroker& operator=(const SimBroker&) = delete;

  asio::awaitable<Result<std::vector<PutOutcome>>> put(std::vector<Frame> letters, std::int64_t epoch) override {
    auto going = inner_.put(std::move(letters), epoch);
    return over(std::move(going), true);
  }
  asio::awaitable<Result<std::vector<ReceivedFrame>>> receive(bool as_leader, std::size_t most,
                                                              milliseconds wait) override {
    const auto until = now() + wait;
    woken_ = false;
    for (;;) {
      const auto seen = network_.raised_;
      auto asking = inner_.receive(as_leader, most, wait);
      auto going = over(std::move(asking), false);
      auto got = co_await std::move(going);
      if (!got || !got->empty() || woken_ || fate_.is_dead || now() >= until) co_return got;
      if (network_.raised_ != seen) continue;
      network_.waiting_.insert(this);
      waits_.expires_after(until - now());
      boost::system::error_code woken;
      co_await waits_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      network_.waiting_.erase(this);
    }
  }
  void wake() override {
    woken_ = true;
    waits_.cancel();
  }
  asio::awaitable<Status> acknowledge(std::vector<ReceivedFrame> letters) override {
    auto going = inner_.acknowledge(std::move(letters));
    return over(std::move(going), false);
  }
  asio::awaitable<Result<LeaderLease>> elect(std::int64_t at_least) override {
    auto going = inner_.elect(at_least);
    return over(std::move(going), false);
  }
  asio::awaitable<Result<LeaderLease>> renew(std::int64_t epoch) override {
    auto going = inner_.renew(epoch);
    return over(std::move(going), false);
  }
  asio::awaitable<Status> resign(std::int64_t epoch) override {
    auto going = inner_.resign(epoch);
    return over(std::move(going), false);
  }
  asio::awaitable<Result<LeaderLease>> leader() override {
    auto going = inner_.leader();
    return over(std::move(going), false);
  }
  asio::awaitable<Result<std::vector<AnswerOutcome>>> answer(std::vector<Frame> letters, std::int64_t epoch) override {
    auto going = inner_.answer(std::move(letters), epoch);
    return over(std::move(going), true);
  }
  asio::awaitable<Result<std::vector<FinalAnswer>>> answered(
      std::vector<std::pair<std::string, std::string>> requests) override {
    auto going = inner_.answered(std::move(requests));
    return over(std::move(going), false);
  }
  asio::awaitable<Status> beat(Heartbeat beat) override {
    auto going = inner_.beat(std::move(beat));
    return over(std::move(going), false);
  }
  asio::awaitable<Result<std::vector<Heartbeat>>> nodes() override {
    auto going = inner_.nodes();
    return over(std::move(going), false);
  }
  asio::awaitable<Result<std::string>> place() override {
    auto going = inner_.place();
    return over(std::move(going), false);
  }
  [[nodiscard]] std::vector<std::string> worries() const override { return {}; }
  [[nodiscard]] std::string name() const override { return "the engine"; }

  void stir() { waits_.cancel(); }

 private:
  /// One way. False if what goes does not arrive.
  asio::awaitable<bool> travel() {
    if (fate_.is_dead) co_return false;
    auto there = pass_by(network_.way());
    co_await std::move(there);
    if (network_.reaches(node_)) co_return !fate_.is_dead;
    const bool is_refused = network_.dice_.one_in(2);
    auto in_vain = pass_by(is_refused ? milliseconds(1) : deadline);
    co_await std::move(in_vain);
    co_return false;
  }
  /// A call starts when it has arrived, and its answer travels back.
  template <class T>
  asio::awaitable<T> over(asio::awaitable<T> call, bool stirs) {
    auto there = travel();
    if (!co_await std::move(there) || fate_.next(false) != Fate::Turn::goes_on) co_return down();
    auto& engine = network_.engine();
    engine.now = std::chrono::duration_cast<milliseconds>(now());
    // The engine keeps what was given by whether the answer arrives.
    engine.fails_after = network_.dice_.one_in(network_.loses_one_in) ? 1 : 0;
    auto done = co_await std::move(call);
    const bool is_lost = std::exchange(engine.fails_after, 0) > 0;
    if (stirs) network_.raise();
    if (fate_.next(false) != Fate::Turn::goes_on) co_return down();
    auto back = pass_by(is_lost ? deadline : network_.way());
    co_await std::move(back);
    co_return done;
  }
  asio::awaitable<void> pass_by(Span span) {
    if (fate_.is_dead) co_return;
    asio::steady_timer timer(executor_);
    timer.expires_after(span);
    boost::system::error_code ended;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  }

  Network& network_;
  std::string node_;
  Fate& fate_;
  test::MemoryBroker inner_;
  asio::steady_timer waits_;
  asio::any_io_executor executor_;
  bool woken_ = false;
};

std::unique_ptr<Broker> Network::open(const std::string& node, Fate& fate, asio::any_io_executor executor) {
  return std::make_unique<SimBroker>(*this, node, fate, std::move(executor));
}

Span Network::way() {
  if (slowest.count() > 0) return dice_.between(milliseconds(1), slowest);
  return dice_.between(std::chrono::microseconds(100), milliseconds(3));
}

bool Network::reaches(const std::string& node) const { return !engine_.down && !engine_.cut_off.contains(node); }

void Network::raise() {
  ++raised_;
  for (auto* one : waiting_) one->stir();
}

void Network::heal() {
  engine_.down = false;
  engine_.cut_off.clear();
  engine_.given_twice = engine_.lost_puts = 0;
  slowest = {};
  loses_one_in = 0;
}

}  // namespace inbox_poller::sim
