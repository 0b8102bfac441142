#include "poller/team/worker_family.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "handlers/whose_pane.hpp"
#include "poller/lead_process.hpp"

namespace inbox_poller::poller {
namespace {

constexpr int shells_around_it = 4;

bool contains(const std::vector<ProcessRef>& list, const ProcessRef& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

}  // namespace

ProcessRef WorkerFamily::worker_in(const ProcessRef& first, EpochMs joined_ms) {
  // Clients start in a shell, and old ones overwrite their command line.
  ProcessRef found = first;
  for (int depth = 0; depth < shells_around_it && is_shell(processes_.arguments(found)); ++depth) {
    auto inner = processes_.in_front_of(found);
    if (!inner || std::abs(processes_.started_ms(*inner) - joined_ms) > handlers::joining_ms) return first;
    found = *std::move(inner);
  }
  return found;
}

std::optional<ProcessRef> WorkerFamily::lead() const {
  const auto& claim = context_.roster.lead_process;
  if (!claim || handlers::state_of(look_at(*claim, processes_)) == handlers::LeadProcessState::gone)
    return std::nullopt;
  auto process = processes_.identify(claim->pid);
  return process ? std::optional(*std::move(process)) : std::nullopt;
}

std::vector<ProcessRef> WorkerFamily::of(const handlers::Shutdown& shutdown, const std::vector<ProcessRef>& roots) {
  auto family = processes_.families(roots);
  std::vector<ProcessRef> others;
  if (auto process = lead()) others.push_back(*std::move(process));
  for (const auto& process : family) {
    // A worker started by this worker is separate. Its command line may show that only after it was recorded, once it
    // has called exec.
    if (const auto agent = option_of(processes_.arguments(process), agent_option); !agent.empty() && agent != shutdown.agent_id)
      others.push_back(process);
  }
  if (!others.empty()) others = processes_.families(others);
  std::erase_if(family, [&](const ProcessRef& process) {
    return contains(others, process) || contains(shutdown.place.processes, process) || !processes_.may_signal(process);
  });
  return family;
}

bool WorkerFamily::has_changed(const std::vector<ProcessRef>& recorded, const std::vector<ProcessRef>& now) const {
  return std::any_of(now.begin(), now.end(), [&](const auto& one) { return !contains(recorded, one); }) ||
         std::any_of(recorded.begin(), recorded.end(),
                     [&](const auto& one) { return !contains(now, one) && processes_.is_alive(one); });
}

}  // namespace inbox_poller::poller
