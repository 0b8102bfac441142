#include "poller/worker_processes.hpp"

namespace inbox_poller::poller {
namespace {

using handlers::WorkerProcess;

constexpr const char* key_option = "--lead-verify-key";
/// A worker's process begins about when it joins; a look from after that has seen it if it is to be seen.
constexpr long long appearing_ms = 120'000;
/// Nobody begins and asks within this time; within it, one look serves all asks of a batch.
constexpr std::chrono::milliseconds just_now{10};
/// Who is not to be seen now and then comes back under the same name.
constexpr std::chrono::seconds unseen_lasts{60};

}  // namespace

WorkerProcesses::Sight WorkerProcesses::look(const std::string& agent_id, long long joined_ms) {
  if (agent_id.empty()) return {};
  const auto [sight, one_has_ended] = known(agent_id);
  if (!one_has_ended && is_settled(sight, joined_ms)) return sight;
  look_at_all();
  return known(agent_id).sight;
}

/// Of those that were seen: which still live under that name. A program may have taken another's place in its process.
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
    return {{WorkerProcess::with_key, process.pid}, false};  // it decides, whoever else ended
  }
  return told;
}

bool WorkerProcesses::is_settled(const Sight& sight, long long joined_ms) const {
  if (sight.process == WorkerProcess::with_key) return true;
  if (!looked_) return false;
  const auto age = clock_.steady() - *looked_;
  if (age < just_now) return true;
  if (looked_ms_ - appearing_ms < joined_ms) return false;  // one with a key may have begun since
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
