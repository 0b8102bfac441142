// An actor's operations in memory: for tests of what stands on top of them.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "poller/mailbox/actor_mail.hpp"
#include "tests/support/patience.hpp"

namespace inbox_poller::poller::testing {

class MemoryOperations : public ActorMail {
 public:
  explicit MemoryOperations(boost::asio::io_context& loop) : ActorMail("alice"), loop_(loop) {}

  /// One comes in.
  void arrive(boost::json::object message) {
    queue_.push_back({std::move(message), 0});
  }
  std::vector<std::string> acknowledged;
  int given_back = 0;
  int waiting = 0;
  bool acknowledges = true;
  [[nodiscard]] std::size_t queued() const { return queue_.size(); }

  Result<Sent> send(const MessageDraft& draft) override {
    if (draft.to == "nobody") return Error{"actor.unknown", "there is no actor called \"nobody\" here"};
    if (draft.to == "new") return Sent{{{"id", "sent-1"}}, true, "\"new\" had no mailbox yet"};
    return Sent{
        {{"id", "sent-1"}, {"from", actor()}, {"to", draft.to}, {"type", draft.type}, {"payload", draft.payload}},
        false,
        {}};
  }
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv(Filter filter, std::chrono::milliseconds within) override {
    const auto deadline = std::chrono::steady_clock::now() + within;  // clock: the wait of this fake box is its subject
    const struct Waits {
      int& count;
      explicit Waits(int& of) : count(of) { ++count; }
      ~Waits() { --count; }
    } waits(waiting);
    for (;;) {
      const auto found = std::find_if(queue_.begin(), queue_.end(), [&](const Queued& one) {
        return !filter.type || one.message.at("type") == boost::json::value(*filter.type);
      });
      if (found != queue_.end()) co_return offer(found);
      if (std::chrono::steady_clock::now() >= deadline) co_return std::optional<HandOut>();  // clock: see recv's deadline
      // clock: the pause between two checks of a condition
      boost::asio::steady_timer timer(loop_, std::min(deadline, std::chrono::steady_clock::now() + std::chrono::milliseconds(2)));
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
  }
  Status acknowledge(const std::string& ticket) override {
    if (!acknowledges) return Error{"io.enospc", "the disk is full"};
    offered_.erase(ticket);
    acknowledged.push_back(ticket);
    return Done{};
  }
  void requeue(const std::string& ticket) override {
    ++given_back;
    const auto found = offered_.find(ticket);
    if (found == offered_.end()) return;
    queue_.push_front(std::move(found->second));
    offered_.erase(found);
  }
  Result<boost::json::object> inbox() override {
    return boost::json::object{{"actor", actor()}, {"unread", queue_.size()}, {"messages", boost::json::array()}};
  }

 private:
  struct Queued {
    Message message;
    std::uint32_t attempts = 0;
  };

  HandOut offer(std::deque<Queued>::iterator found) {
    Queued queued = std::move(*found);
    queue_.erase(found);
    ++queued.attempts;
    HandOut out{queued.message, queued.attempts, "ticket-" + std::to_string(++tickets_)};
    if (queued.attempts > 1) out.message["attempts"] = queued.attempts;
    offered_[out.ticket] = std::move(queued);
    return out;
  }

  boost::asio::io_context& loop_;
  std::deque<Queued> queue_;
  std::map<std::string, Queued> offered_;
  int tickets_ = 0;
};

/// A store with one task, which anybody may end.
class MemoryTasks : public TaskStore {
 public:
  Result<Task> post(const std::string&, const std::string& type, const boost::json::value& payload, std::optional<double>) override {
    return Task(one()).set("type", type).set("payload", payload).set("status", "open");
  }
  Result<std::optional<Task>> claim(const std::string&, const std::optional<std::string>&, std::chrono::milliseconds lease) override {
    if (lease == std::chrono::seconds(1)) return std::optional<Task>();
    return std::optional(one());
  }
  Result<Task> complete(const std::string&, const std::string&, const boost::json::value& result) override {
    return Task(one()).set("result", result);
  }
  Result<Task> heartbeat(const std::string&, const std::string&, std::chrono::milliseconds) override { return one(); }
  Result<Task> abandon(const std::string&, const std::string&, const std::string&) override { return one(); }
  Result<TaskSweep> sweep() override { return TaskSweep{{{TaskPlace::open, {}, "task-1", one()}}, {}, false}; }
  [[nodiscard]] Result<std::vector<TaskFile>> all() const override { return std::vector<TaskFile>(); }
  [[nodiscard]] Result<std::string> whole_id(const std::string& beginning, const std::string&) const override {
    if (beginning != "task-1") return Error{"task.unknown", "there is no task \"" + beginning + "\""};
    return beginning;
  }
  Result<Task> requeue(const std::string&) override { return one(); }

 private:
  static Task one() { return Task().set("id", "task-1").set("payload", "p"); }
};

}  // namespace inbox_poller::poller::testing
