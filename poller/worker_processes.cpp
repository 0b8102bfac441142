#include "poller/worker_processes.hpp"

#include <limits>
#include <utility>

namespace inbox_poller::poller {
namespace {

using handlers::WorkerProcess;

constexpr const char* key_option = "--lead-verify-key";
/// A worker's process starts near the time when it joins. A later search finds it if it is visible.
constexpr long long appearing_ms = 120'000;
/// No worker starts and sends a request within this time, so one search serves all requests of a batch.
constexpr std::chrono::milliseconds just_now{10};
/// An unseen worker may restart under the same name, so a search is repeated after this time.
constexpr std::chrono::seconds unseen_lasts{60};
constexpr long long just_joined = std::numeric_limits<long long>::max();
/// Names are the roster's, so a hostile one may have any number of them over time.
constexpr std::size_t most_joined = 10'000;

}  // namespace

WorkerProcesses::Sight WorkerProcesses::look(const std::string& agent_id, long long joined_ms) {
  if (agent_id.empty()) return {};
  const auto [sight, one_has_ended] = known(agent_id);
  if (joined_.size() > most_joined) joined_.clear();
  const bool has_joined = std::exchange(joined_[agent_id], joined_ms) != joined_ms;
  const long long joined = joined_ms == 0 ? 0 : clock_.from_peer(joined_ms);
  if (!one_has_ended && is_settled(sight, has_joined ? just_joined : joined)) return sight;
  look_at_all();
  return known(agent_id).sight;
}

/// Checks which of the found processes still live under that name. A program may have replaced another in its process.
WorkerProcesses::Known WorkerProcesses::known(const std::string& agent_id) const {
  Known told;
  const auto found = agents_.find(agent_id);
  if (found == agents_.end()) return told;
  for (const auto& process : found->second) {
    const auto arguments = processes_.arguments(process);
    if (option_of(arguments, agent_option) != agent_id) {
      told.one_has_ended = true;
      continue;
    }
    told.sight = {WorkerProcess::without_key, process.pid};
    if (option_of(arguments, key_option).empty()) continue;
    return {{WorkerProcess::with_key, process.pid}, false};  // decides, even if others have ended
  }
  return told;
}

bool WorkerProcesses::is_settled(const Sight& sight, long long joined_ms) const {
  if (sight.process == WorkerProcess::with_key) return true;
  if (!looked_) return false;
  const auto age = clock_.steady() - *looked_;
  if (age < just_now) return true;
  // A process with a key may have started since.
  if (joined_ms == 0 || looked_ms_ - appearing_ms < joined_ms) return false;
  return sight.process == WorkerProcess::without_key || age < unseen_lasts;
}

void WorkerProcesses::look_at_all() {
  agents_.clear();
  looked_ = clock_.steady();
  looked_ms_ = clock_.wall_ms();
  for (auto& process : processes_.with_word(agent_option))
    if (const auto id = option_of(processes_.arguments(process), agent_option); !id.empty())
      agents_[id].push_back(std::move(process));
}

}  // namespace inbox_poller::poller
