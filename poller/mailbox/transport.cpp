#include "poller/mailbox/transport.hpp"

#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/mailbox/jsonl/jsonl_mailbox.hpp"

namespace inbox_poller::poller {

OpenTeam open_team(FileSystem& files, const Clock& clock, boost::asio::thread_pool& pool,
                   const config::TeamConfig& config, const std::string& name, const std::string& state_dir) {
  if (config.team.transport == config::Transport::jsonl) {
    JsonlSettings settings;
    settings.folder = config.team.team_folder(name);
    settings.tasks = config.team.task_folder(name);
    settings.team = name;
    if (!config.team.lead.empty()) settings.lead = config.team.lead;
    settings.members = config.team.members;
    settings.records = state_dir + "/jsonl/" + name + ".json";
    settings.size_limit = config.limits.inbox_file.count;
    auto jsonl = std::make_shared<JsonlMailbox>(files, clock, std::move(settings));
    return {jsonl, jsonl};
  }
  ArraysSettings settings = settings_of(config, name);
  settings.pool = &pool;
  auto arrays = std::make_shared<ArraysMailbox>(files, clock, std::move(settings));
  return {arrays, arrays};
}

}  // namespace inbox_poller::poller
