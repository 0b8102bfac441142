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
struct MemoryBrokerData {
  struct Entry {
    std::string id;
    poller::Frame frame;
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
  int lost_grants = 0;            // so many elections are won by a node that does not hear of it
  int given_twice = 0;            // so many receives give everything twice
  std::map<std::string, int> woken;  // how often a wait for letters was ended, by node
  std::function<void()> on_put = [] {};      // while letters are on their way to the engine
  std::function<void()> on_receive = [] {};  // while letters are on their way to their reader
  double fails_before = 0, fails_after = 0;  // share of calls that fail, with nothing or with everything done
  std::mt19937 random{7};

  static std::string mark_of(const std::string& node, const poller::Frame& frame) {
    return node + "\n" + frame.address + "\n" + frame.key.value + "\n" + std::to_string(frame.attempt);
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
        marks.erase(mark_of(one.node, one.frame));
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
  MemoryBroker(MemoryBrokerData& broker, std::string node) : broker_(broker), node_(std::move(node)) {}

  boost::asio::awaitable<Result<std::vector<poller::PutOutcome>>> put(std::vector<poller::Frame> frames,
                                                                      std::int64_t epoch) override {
    if (auto wrong = before()) co_return *wrong;
    broker_.on_put();
    std::vector<poller::PutOutcome> outcomes;
    for (auto& frame : frames) {
      poller::PutOutcome outcome;
      if (epoch != 0 && is_fenced(epoch)) {
        outcome.what = poller::PutOutcome::What::fenced;
        outcome.epoch = broker_.epoch;
        outcomes.push_back(outcome);
        break;
      }
      outcome.what = append(frame) ? poller::PutOutcome::What::appended : poller::PutOutcome::What::was_there;
      outcomes.push_back(outcome);
    }
    if (auto wrong = after()) co_return *wrong;
    co_return outcomes;
  }

  boost::asio::awaitable<Result<std::vector<poller::ReceivedFrame>>> receive(bool as_leader, std::size_t most,
                                                                             std::chrono::milliseconds) override {
    if (auto wrong = before()) co_return *wrong;
    std::vector<poller::ReceivedFrame> frames;
    for (auto& [key, stream] : broker_.streams) {
      const auto& [address, writer] = key;
      const bool ours = address == poller::node_address(node_) || (as_leader && address == poller::lead_address);
      if (!ours) continue;
      for (const auto& one : stream.entries) {  // ours that were never acknowledged, or of another who led
        const auto given = stream.pending.find(one.id);
        if (given == stream.pending.end() || frames.size() >= most) continue;
        if (given->second == node_ && seen_.contains(one.id)) continue;  // within this process: given once
        give(stream, one, frames);
      }
      while (stream.given < stream.entries.size() && frames.size() < most)
        give(stream, stream.entries[stream.given++], frames);
    }
    if (!frames.empty()) broker_.on_receive();
    if (broker_.given_twice > 0 && !frames.empty()) {
      --broker_.given_twice;
      const auto once = frames;
      frames.insert(frames.end(), once.begin(), once.end());
    }
    if (auto wrong = after()) {
      seen_.clear();  // it is given again
      co_return *wrong;
    }
    co_return frames;
  }
  void wake() override { ++broker_.woken[node_]; }
  boost::asio::awaitable<Status> acknowledge(std::vector<poller::ReceivedFrame> frames) override {
    if (auto wrong = before()) {
      seen_.clear();  // what stays pending is given again
      co_return *wrong;
    }
    for (const auto& frame : frames)
      for (auto& [key, stream] : broker_.streams)
        if (key.first == frame.address && key.second == frame.node) stream.pending.erase(frame.id);
    if (auto wrong = after()) {
      seen_.clear();
      co_return *wrong;
    }
    co_return Done{};
  }

  boost::asio::awaitable<Result<poller::LeaderLease>> elect(std::int64_t at_least) override {
    if (auto wrong = before()) co_return *wrong;
    if (is_free() || broker_.holder == node_) {  // one's own is taken anew
      broker_.epoch = std::max(broker_.epoch, at_least) + 1;
      broker_.holder = broker_.led_by = node_;
      broker_.until = broker_.now + lasts;
      if (broker_.lost_grants > 0) co_return --broker_.lost_grants, Error{"redis.down", "it broke off"};
    }
    if (auto wrong = after()) co_return *wrong;
    co_return lease();
  }
  boost::asio::awaitable<Result<poller::LeaderLease>> renew(std::int64_t epoch) override {
    if (auto wrong = before()) co_return *wrong;
    if (!is_free() && broker_.holder == node_ && broker_.epoch == epoch) broker_.until = broker_.now + lasts;
    if (auto wrong = after()) co_return *wrong;
    auto now = lease();
    now.ours = now.ours && broker_.epoch == epoch;
    co_return now;
  }
  boost::asio::awaitable<Status> resign(std::int64_t epoch) override {
    if (auto wrong = before()) co_return *wrong;
    if (broker_.holder == node_ && broker_.epoch == epoch) broker_.holder.clear();
    co_return Done{};
  }
  boost::asio::awaitable<Result<poller::LeaderLease>> leader() override {
    if (auto wrong = before()) co_return *wrong;
    co_return lease();
  }

  boost::asio::awaitable<Result<std::vector<poller::AnswerOutcome>>> answer(std::vector<poller::Frame> frames,
                                                                            std::int64_t epoch) override {
    using What = poller::AnswerOutcome::What;
    if (auto wrong = before()) co_return *wrong;
    std::vector<poller::AnswerOutcome> outcomes;
    for (const auto& frame : frames) {
      auto& outcome = outcomes.emplace_back();
      if (is_fenced(epoch)) {
        outcome.what = What::fenced;
        outcome.epoch = broker_.epoch;
        break;
      }
      const auto [decision, is_first] =
          broker_.decisions.try_emplace({frame.type, frame.request}, poller::FinalAnswer{frame.entry, node_, epoch});
      const bool ours = decision->second.entry == frame.entry;
      outcome = {is_first ? What::decided : ours ? What::was_ours : What::other, decision->second, 0};
      if (ours) append(frame);
    }
    if (auto wrong = after()) co_return *wrong;
    co_return outcomes;
  }

  boost::asio::awaitable<Result<std::vector<poller::FinalAnswer>>> answered(
      std::vector<std::pair<std::string, std::string>> requests) override {
    if (auto wrong = before()) co_return *wrong;
    std::vector<poller::FinalAnswer> answers;
    for (const auto& request : requests) {
      const auto found = broker_.decisions.find(request);
      answers.push_back(found == broker_.decisions.end() ? poller::FinalAnswer() : found->second);
    }
    co_return answers;
  }

  boost::asio::awaitable<Status> beat(poller::Heartbeat beat) override {
    if (auto wrong = before()) co_return *wrong;
    broker_.beats[beat.node] = {beat.told, broker_.now + std::chrono::seconds(15)};
    co_return Done{};
  }
  boost::asio::awaitable<Result<std::vector<poller::Heartbeat>>> nodes() override {
    if (auto wrong = before()) co_return *wrong;
    std::vector<poller::Heartbeat> nodes;
    for (const auto& [node, told] : broker_.beats)
      if (told.second > broker_.now && told.first.size() <= poller::longest_beat)
        nodes.push_back({node, told.first});
    co_return nodes;
  }
  boost::asio::awaitable<Result<std::string>> place() override {
    if (auto wrong = before()) co_return *wrong;
    co_return "run " + std::to_string(broker_.place);
  }
  [[nodiscard]] std::vector<std::string> worries() const override { return {}; }
  [[nodiscard]] std::string name() const override { return "memory"; }

 private:
  static constexpr std::chrono::milliseconds lasts{10'000};

  [[nodiscard]] bool is_free() const { return broker_.holder.empty() || broker_.until <= broker_.now; }
  [[nodiscard]] bool is_fenced(std::int64_t epoch) const { return epoch != broker_.epoch || node_ != broker_.led_by; }
  [[nodiscard]] poller::LeaderLease lease() const {
    if (is_free()) return {false, "", broker_.epoch, std::chrono::milliseconds(0)};
    return {broker_.holder == node_, broker_.holder, broker_.epoch, broker_.until - broker_.now};
  }
  std::optional<Error> chance(double share) {
    if (share <= 0 || std::uniform_real_distribution<>()(broker_.random) >= share) return std::nullopt;
    return Error{"redis.down", "it broke off"};
  }
  std::optional<Error> before() {
    if (broker_.down || broker_.cut_off.contains(node_)) return Error{"redis.down", "it is not reached"};
    if (broker_.broken_calls > 0) return --broker_.broken_calls, Error{"redis.down", "it broke off"};
    return chance(broker_.fails_before);
  }
  std::optional<Error> after() { return chance(broker_.fails_after); }

  bool append(const poller::Frame& frame) {
    if (!broker_.marks.insert(MemoryBrokerData::mark_of(node_, frame)).second) return false;
    if (broker_.lost_puts > 0) {
      --broker_.lost_puts;
      return true;
    }
    broker_.streams[{frame.address, node_}].entries.push_back({std::to_string(broker_.next_id++), frame, node_});
    return true;
  }
  void give(MemoryBrokerData::Stream& stream, const MemoryBrokerData::Entry& one,
            std::vector<poller::ReceivedFrame>& frames) {
    stream.pending[one.id] = node_;
    seen_.insert(one.id);
    poller::ReceivedFrame frame;
    static_cast<poller::Frame&>(frame) = one.frame;
    frame.node = one.node;
    frame.id = one.id;
    frames.push_back(std::move(frame));
  }

  MemoryBrokerData& broker_;
  std::string node_;
  std::set<std::string> seen_;  // given to this process
};

}  // namespace inbox_poller::test
