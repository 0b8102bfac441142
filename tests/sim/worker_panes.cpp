#include "tests/sim/worker_panes.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <utility>

namespace inbox_poller::sim {
namespace asio = boost::asio;
using namespace inbox_poller::poller;

// --- the medium ---

long long WorkerPanes::start(Client client, bool is_shell, long long parent) {
  const auto pid = ++last_pid_;
  processes_[pid] = {{pid, std::to_string(now().count())}, std::move(client), is_shell, parent, system_ms()};
  return pid;
}

std::string WorkerPanes::open(Client client) {
  if (server_ == 0) server_ = start({}, false, 1);
  const auto shell = client.in_shell ? start({}, true, server_) : 0;
  const auto pid = start(std::move(client), false, shell == 0 ? server_ : shell);
  const std::string id = "%" + std::to_string(last_pane_++);
  panes_[id] = {processes_.at(server_).ref, processes_.at(shell == 0 ? pid : shell).ref, pid};
  return id;
}

void WorkerPanes::end(const std::string& id) {
  const auto pane = panes_.find(id);
  if (pane == panes_.end()) return;
  const bool stays = pane->second.first.pid != pane->second.client;
  processes_.erase(pane->second.client);
  if (!stays) panes_.erase(pane);
}

void WorkerPanes::lose_all() {
  processes_.clear();
  panes_.clear();
  server_ = last_pane_ = 0;
}

// --- processes ---

const WorkerPanes::Process* SimProcesses::find(const ProcessRef& ref) const {
  const auto found = panes_.processes_.find(ref.pid);
  return found == panes_.processes_.end() || found->second.ref != ref ? nullptr : &found->second;
}

Result<ProcessRef> SimProcesses::identify(long long pid) {
  const auto found = panes_.processes_.find(pid);
  if (found == panes_.processes_.end()) return Error{"process.gone", "no process"};
  return found->second.ref;
}

bool SimProcesses::is_alive(const ProcessRef& ref) { return find(ref) != nullptr; }

std::vector<ProcessRef> SimProcesses::family(const ProcessRef& ref) { return families({ref}); }

std::vector<ProcessRef> SimProcesses::families(const std::vector<ProcessRef>& roots) {
  std::vector<ProcessRef> all;
  for (const auto& [pid, one] : panes_.processes_) {  // a child has a greater number than its parent
    const bool is_below =
        std::ranges::any_of(all, [parent = one.parent](const auto& other) { return other.pid == parent; });
    if (is_below || std::ranges::find(roots, one.ref) != roots.end()) all.push_back(one.ref);
  }
  return all;
}

std::optional<ProcessRef> SimProcesses::in_front_of(const ProcessRef& shell) {
  for (const auto& [pid, one] : panes_.processes_)
    if (one.parent == shell.pid && find(shell) != nullptr) return one.ref;
  return std::nullopt;
}

std::vector<std::string> SimProcesses::arguments(const ProcessRef& ref) {
  const auto* one = find(ref);
  if (one == nullptr) return {};
  if (one->is_shell) return {"bash"};
  std::vector<std::string> words{"claude"};
  if (!one->client.agent.empty()) words.insert(words.end(), {std::string(agent_option), one->client.agent});
  if (one->client.verifies) words.insert(words.end(), {"--lead-verify-key", "key"});
  return words;
}

std::vector<ProcessRef> SimProcesses::with_word(std::string_view word) {
  std::vector<ProcessRef> all;
  for (const auto& [pid, one] : panes_.processes_)
    if (word == agent_option && !one.client.agent.empty()) all.push_back(one.ref);
  return all;
}

long long SimProcesses::started_ms(const ProcessRef& ref) {
  const auto* one = find(ref);
  return one == nullptr ? 0 : one->started_ms;
}

Status SimProcesses::signal(const ProcessRef& ref, int number) {
  if (fate_.next(false) != Fate::Turn::goes_on) return Error{"process.signal", "the daemon is dead"};
  const auto found = panes_.processes_.find(ref.pid);
  if (found == panes_.processes_.end() || found->second.ref != ref) return Done{};
  if (const auto on_signal = found->second.client.on_signal) {
    on_signal(number);
  } else {
    std::erase_if(panes_.panes_, [&](const auto& pane) { return pane.second.first == ref; });
    panes_.processes_.erase(found);
  }
  return Done{};
}

// --- panes ---

asio::awaitable<Status> SimPanes::run() {
  asio::steady_timer timer(co_await asio::this_coro::executor,
                           fate_.dice().between(std::chrono::milliseconds(2), std::chrono::milliseconds(40)));
  co_await timer.async_wait(asio::use_awaitable);
  if (fate_.next() != Fate::Turn::goes_on) co_return Error{"panes.unavailable", "tmux did not answer"};
  co_return Done{};
}

std::optional<Pane> SimPanes::look(const std::string& id) const {
  const auto found = panes_.panes_.find(id);
  if (found == panes_.panes_.end()) return std::nullopt;
  return Pane{id, found->second.server, found->second.first, false};
}

asio::awaitable<Result<std::optional<Pane>>> SimPanes::find(std::string id) {
  const Status ran = co_await run();
  if (!ran) co_return ran.error();
  co_return look(id);
}

asio::awaitable<Result<std::vector<Pane>>> SimPanes::list() {
  const Status ran = co_await run();
  if (!ran) co_return ran.error();
  std::vector<Pane> all;
  for (const auto& [id, pane] : panes_.panes_) all.push_back(*look(id));
  co_return all;
}

asio::awaitable<Status> SimPanes::close(Pane pane) {
  const Status ran = co_await run();
  if (!ran) co_return ran.error();
  const auto found = panes_.panes_.find(pane.id);
  if (found == panes_.panes_.end() || found->second.first != pane.first || found->second.server != pane.server)
    co_return Done{};
  const auto client = panes_.processes_.find(found->second.client);
  if (client != panes_.processes_.end() && client->second.client.on_signal) client->second.client.on_signal(SIGKILL);
  panes_.processes_.erase(pane.first.pid);
  panes_.panes_.erase(pane.id);
  co_return Done{};
}

// --- the lead's pane ---

asio::awaitable<Result<std::optional<Front>>> SimPanes::front(std::string id) {
  const Status ran = co_await run();
  if (!ran) co_return ran.error();
  co_return id == Terminal::id ? std::optional(terminal_.front()) : std::nullopt;
}

template <typename Act>
asio::awaitable<Typed> SimPanes::type(Act act) {
  const Status ran = co_await run();
  if (ran) co_return act();
  if (!fate_.is_dead && fate_.dice().one_in(2)) static_cast<void>(act());
  co_return Typed{Typed::How::unknown, ran.error().message};
}

asio::awaitable<Typed> SimPanes::paste(Front seen, std::string, std::string text) {
  return type([this, seen = std::move(seen), text = std::move(text)] { return terminal_.paste(seen, text); });
}

asio::awaitable<Typed> SimPanes::press(Front seen, Key key) {
  return type([this, seen = std::move(seen), key] { return terminal_.press(seen, key); });
}

}  // namespace inbox_poller::sim
