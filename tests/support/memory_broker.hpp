// An engine between nodes in memory: the port without a network, for tests whose subject is somebody else, with the faults
// that real ones have. Its clock moves when it is told to.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "poller/broker/broker.hpp"

namespace inbox_poller::test {

/// What all nodes of one team share.
struct MemoryEngine {
  struct Entry {
    std::string id;
    poller::Frame letter;
    std::string node;
  };
  struct Stream {
    std::vector<Entry> entries;
    std::size_t given = 0;                       // so many from the front were given to somebody
    std::map<std::string, std::string> pending;  // id, and to whom it was given
  };
  std::map<std::pair<std::string, std::string>, Stream> streams;  // by address and writer
  std::set<std::string> marks;
  std::map<std::pair<std::string, std::string>, poller::FinalAnswer> decisions;
  std::map<std::string, std::pair<std::string, std::chrono::milliseconds>> beats;
  std::string holder;
  std::int64_t epoch = 0;
  std::string led_by;  // the node of that epoch
  std::chrono::milliseconds now{0};
  std::chrono::milliseconds until{0};
  int place = 1;
  long long next_id = 1;

  // Faults
  bool down = false;
  std::set<std::string> cut_off;  // nodes that do not reach it
  int broken_calls = 0;           // so many fail, with nothing done; no receive
  int lost_puts = 0;              // so many are confirmed and kept nowhere
  int given_twice = 0;            // so many receives give everything twice
  std::map<std::string, int> woken;  // how often a wait for letters was ended, by node
  std::function<void()> on_put = [] {};      // while letters are on their way to the engine
  std::function<void()> on_receive = [] {};  // while letters are on their way to their reader
  double fails_before = 0, fails_after = 0;  // share of calls that fail, with nothing or with everything done
  std::mt19937 random{7};

  static std::string mark_of(const std::string& node, const poller::Frame& letter) {
    return node + "\n" + letter.address + "\n" + letter.key.value + "\n" + std::to_string(letter.attempt);
  }

  /// As a restart without its data: what it knew is gone.
  void empty() {
    streams.clear();
    marks.clear();
    decisions.clear();
    beats.clear();
    holder.clear();
    led_by.clear();
    epoch = 0;
    ++place;
  }
  /// As a failover to a replica that had not got the last ones yet.
  void lose_tail(std::size_t most) {
    for (auto& [key, stream] : streams) {
      const auto lost = std::min(most, stream.entries.size());
      for (std::size_t i = stream.entries.size() - lost; i < stream.entries.size(); ++i) {
        const auto& one = stream.entries[i];
        marks.erase(mark_of(one.node, one.letter));
        stream.pending.erase(one.id);
      }
      stream.entries.resize(stream.entries.size() - lost);
      stream.given = std::min(stream.given, stream.entries.size());
    }
    ++place;
  }
  void advance(std::chrono::milliseconds by) { now += by; }
};

class MemoryBroker final : public poller::Broker {
 public:
  MemoryBroker(MemoryEngine& engine, std::string node) : engine_(engine), node_(std::move(node)) {}

  boost::asio::awaitable<Result<std::vector<poller::PutOutcome>>> put(std::vector<poller::Frame> letters,
                                                                      std::int64_t epoch) override {
    if (auto wrong = before()) co_return *wrong;
    engine_.on_put();
    std::vector<poller::PutOutcome> outcomes;
    for (auto& letter : letters) {
      poller::PutOutcome outcome;
      if (epoch != 0 && is_fenced(epoch)) {
        outcome.what = poller::PutOutcome::What::fenced;
        outcome.epoch = engine_.epoch;
        outcomes.push_back(outcome);
        break;
      }
      outcome.what = append(letter) ? poller::PutOutcome::What::appended : poller::PutOutcome::What::was_there;
      outcomes.push_back(outcome);
    }
    if (auto wrong = after()) co_return *wrong;
    co_return outcomes;
  }

  boost::asio::awaitable<Result<std::vector<poller::ReceivedFrame>>> receive(bool as_leader, std::size_t most,
                                                                             std::chrono::milliseconds) override {
    if (auto wrong = before()) co_return *wrong;
    std::vector<poller::ReceivedFrame> letters;
    for (auto& [key, stream] : engine_.streams) {
      const auto& [address, writer] = key;
      const bool ours = address == poller::node_address(node_) || (as_leader && address == poller::lead_address);
      if (!ours) continue;
      for (const auto& one : stream.entries) {  // ours that were never acknowledged, or of another who led
        const auto given = stream.pending.find(one.id);
        if (given == stream.pending.end() || letters.size() >= most) continue;
        if (given->second == node_ && seen_.contains(one.id)) continue;  // within this process: given once
        give(stream, one, letters);
      }
      while (stream.given < stream.entries.size() && letters.size() < most) give(stream, stream.entries[stream.given++], letters);
    }
    if (!letters.empty()) engine_.on_receive();
    if (engine_.given_twice > 0 && !letters.empty()) {
      --engine_.given_twice;
      const auto once = letters;
      letters.insert(letters.end(), once.begin(), once.end());
    }
    if (auto wrong = after()) {
      seen_.clear();  // it is given again
      co_return *wrong;
    }
    co_return letters;
  }
  void wake() override { ++engine_.woken[node_]; }
  boost::asio::awaitable<Status> acknowledge(std::vector<poller::ReceivedFrame> letters) override {
    if (auto wrong = before()) {
      seen_.clear();  // what stays pending is given again
      co_return *wrong;
    }
    for (const auto& letter : letters)
      for (auto& [key, stream] : engine_.streams)
        if (key.first == letter.address && key.second == letter.node) stream.pending.erase(letter.id);
    if (auto wrong = after()) {
      seen_.clear();
      co_return *wrong;
    }
    co_return Done{};
  }

  boost::asio::awaitable<Result<poller::LeaderLease>> elect(std::int64_t at_least) override {
    if (auto wrong = before()) co_return *wrong;
    if (is_free() || engine_.holder == node_) {  // one's own is taken anew
      engine_.epoch = std::max(engine_.epoch, at_least) + 1;
      engine_.holder = engine_.led_by = node_;
      engine_.until = engine_.now + lasts;
    }
    if (auto wrong = after()) co_return *wrong;
    co_return lease();
  }
  boost::asio::awaitable<Result<poller::LeaderLease>> renew(std::int64_t epoch) override {
    if (auto wrong = before()) co_return *wrong;
    if (!is_free() && engine_.holder == node_ && engine_.epoch == epoch) engine_.until = engine_.now + lasts;
    if (auto wrong = after()) co_return *wrong;
    auto now = lease();
    now.ours = now.ours && engine_.epoch == epoch;
    co_return now;
  }
  boost::asio::awaitable<Status> resign(std::int64_t epoch) override {
    if (auto wrong = before()) co_return *wrong;
    if (engine_.holder == node_ && engine_.epoch == epoch) engine_.holder.clear();
    co_return Done{};
  }
  boost::asio::awaitable<Result<poller::LeaderLease>> leader() override {
    if (auto wrong = before()) co_return *wrong;
    co_return lease();
  }

  boost::asio::awaitable<Result<std::vector<poller::AnswerOutcome>>> answer(std::vector<poller::Frame> letters,
                                                                            std::int64_t epoch) override {
    using What = poller::AnswerOutcome::What;
    if (auto wrong = before()) co_return *wrong;
    std::vector<poller::AnswerOutcome> outcomes;
    for (const auto& letter : letters) {
      auto& outcome = outcomes.emplace_back();
      if (is_fenced(epoch)) {
        outcome.what = What::fenced;
        outcome.epoch = engine_.epoch;
        break;
      }
      const auto [decision, is_first] =
          engine_.decisions.try_emplace({letter.type, letter.request}, poller::FinalAnswer{letter.entry, node_, epoch});
      const bool ours = decision->second.entry == letter.entry;
      outcome = {is_first ? What::decided : ours ? What::was_ours : What::other, decision->second, 0};
      if (ours) append(letter);
    }
    if (auto wrong = after()) co_return *wrong;
    co_return outcomes;
  }

  boost::asio::awaitable<Result<std::vector<poller::FinalAnswer>>> answered(
      std::vector<std::pair<std::string, std::string>> requests) override {
    if (auto wrong = before()) co_return *wrong;
    std::vector<poller::FinalAnswer> answers;
    for (const auto& request : requests) {
      const auto found = engine_.decisions.find(request);
      answers.push_back(found == engine_.decisions.end() ? poller::FinalAnswer() : found->second);
    }
    co_return answers;
  }

  boost::asio::awaitable<Status> beat(poller::Heartbeat beat) override {
    if (auto wrong = before()) co_return *wrong;
    engine_.beats[beat.node] = {beat.told, engine_.now + std::chrono::seconds(15)};
    co_return Done{};
  }
  boost::asio::awaitable<Result<std::vector<poller::Heartbeat>>> nodes() override {
    if (auto wrong = before()) co_return *wrong;
    std::vector<poller::Heartbeat> nodes;
    for (const auto& [node, told] : engine_.beats)
      if (told.second > engine_.now && told.first.size() <= poller::longest_beat)
        nodes.push_back({node, told.first});
    co_return nodes;
  }
  boost::asio::awaitable<Result<std::string>> place() override {
    if (auto wrong = before()) co_return *wrong;
    co_return "run " + std::to_string(engine_.place);
  }
  [[nodiscard]] std::vector<std::string> worries() const override { return {}; }
  [[nodiscard]] std::string name() const override { return "memory"; }

 private:
  static constexpr std::chrono::milliseconds lasts{10'000};

  [[nodiscard]] bool is_free() const { return engine_.holder.empty() || engine_.until <= engine_.now; }
  [[nodiscard]] bool is_fenced(std::int64_t epoch) const { return epoch != engine_.epoch || node_ != engine_.led_by; }
  [[nodiscard]] poller::LeaderLease lease() const {
    if (is_free()) return {false, "", engine_.epoch, std::chrono::milliseconds(0)};
    return {engine_.holder == node_, engine_.holder, engine_.epoch, engine_.until - engine_.now};
  }
  std::optional<Error> chance(double share) {
    if (share <= 0 || std::uniform_real_distribution<>()(engine_.random) >= share) return std::nullopt;
    return Error{"redis.down", "it broke off"};
  }
  std::optional<Error> before() {
    if (engine_.down || engine_.cut_off.contains(node_)) return Error{"redis.down", "it is not reached"};
    if (engine_.broken_calls > 0) return --engine_.broken_calls, Error{"redis.down", "it broke off"};
    return chance(engine_.fails_before);
  }
  std::optional<Error> after() { return chance(engine_.fails_after); }

  bool append(const poller::Frame& letter) {
    if (!engine_.marks.insert(MemoryEngine::mark_of(node_, letter)).second) return false;
    if (engine_.lost_puts > 0) {
      --engine_.lost_puts;
      return true;
    }
    engine_.streams[{letter.address, node_}].entries.push_back({std::to_string(engine_.next_id++), letter, node_});
    return true;
  }
  void give(MemoryEngine::Stream& stream, const MemoryEngine::Entry& one, std::vector<poller::ReceivedFrame>& letters) {
    stream.pending[one.id] = node_;
    seen_.insert(one.id);
    poller::ReceivedFrame letter;
    static_cast<poller::Frame&>(letter) = one.letter;
    letter.node = one.node;
    letter.id = one.id;
    letters.push_back(std::move(letter));
  }

  MemoryEngine& engine_;
  std::string node_;
  std::set<std::string> seen_;  // given to this process
};

}  // namespace inbox_poller::test
