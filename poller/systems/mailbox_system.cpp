#include "poller/systems/mailbox_system.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "poller/broker/redis_mailbox.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/mailbox/jsonl/jsonl_mailbox.hpp"
#include "poller/mailbox/maildir/maildir_task_events.hpp"
#include "poller/mailbox/maildir/maildir_mailbox.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {
namespace {

class Arrays final : public MailboxSystem {
 public:
  Result<std::vector<std::string>> list(FileSystem& files, const config::TeamConfig& config) const override {
    const auto root = files.open_dir(absolute, config.team.root);
    if (!root && is_errno(root.error(), ENOENT)) return std::vector<std::string>();
    if (!root) return root.error();
    auto names = files.list(*root);
    if (names) std::sort(names->begin(), names->end());
    return names;
  }
  Result<bool> is_team(FileSystem& files, const config::TeamConfig& config, const std::string& name) const override {
    const auto root = files.open_dir(absolute, config.team.root);
    const auto folder = root ? files.open_dir(*root, name) : Result<Directory>(root.error());
    if (!folder && !is_errno(folder.error(), ENOENT)) return folder.error();
    // A folder without a roster is not a team (yet).
    if (!folder || !files.stat_at(*folder, "config.json")) return false;
    if (auto way = require_trusted_above(folder->path); !way)
      return Error{way.error().code, "team \"" + name + "\" is not served: " + way.error().message};
    return true;
  }
  std::string location(const config::TeamConfig& config, const std::string& name) const override {
    return config.team.root + "/" + name;
  }
  std::string hints_of(const config::TeamConfig& config, const std::string& name) const override {
    return location(config, name) + "/inboxes";
  }
  std::string roster_hints_of(const config::TeamConfig& config, const std::string& name) const override {
    return location(config, name);
  }
  OpenTeam open(FileSystem& files, const Clock& clock, boost::asio::thread_pool& pool,
                const config::TeamConfig& config, const std::string& name, const std::string&) const override {
    ArraysSettings settings = settings_of(config, name);
    settings.pool = &pool;
    auto arrays = std::make_shared<ArraysMailbox>(files, clock, std::move(settings));
    return {arrays, arrays, arrays};
  }
};

/// One configuration is one team, in one folder.
class Jsonl final : public MailboxSystem {
 public:
  Result<std::vector<std::string>> list(FileSystem&, const config::TeamConfig& config) const override {
    return std::vector<std::string>{config.team.name};
  }
  Result<bool> is_team(FileSystem& files, const config::TeamConfig& config, const std::string& name) const override {
    const auto folder = open_dir_below(files, config.team.folder);
    if (!folder && !is_errno(folder.error(), ENOENT))
      return Error{folder.error().code, "team \"" + name + "\" is not served: " + folder.error().message};
    // A folder without a roster is not a team (yet), unless its members are configured.
    if (!folder || (config.team.members.empty() && !files.stat_at(*folder, "config.json"))) return false;
    if (auto way = require_trusted_above(folder->path); !way)
      return Error{way.error().code, "team \"" + name + "\" is not served: " + way.error().message};
    return true;
  }
  std::string location(const config::TeamConfig& config, const std::string&) const override {
    return config.team.folder;
  }
  std::string hints_of(const config::TeamConfig& config, const std::string&) const override {
    return config.team.inbox_folder({});
  }
  OpenTeam open(FileSystem& files, const Clock& clock, boost::asio::thread_pool&, const config::TeamConfig& config,
                const std::string& name, const std::string& state_dir) const override {
    JsonlSettings settings;
    settings.folder = config.team.folder;
    settings.tasks = config.team.task_folder(name);
    settings.team = name;
    if (!config.team.lead.empty()) settings.lead = config.team.lead;
    settings.anybody = config.team.takes_anybody();
    if (!settings.anybody) settings.members = config.team.members;
    settings.records = state_dir + "/jsonl/" + name + ".json";
    settings.size_limit = config.limits.inbox_file.count;
    settings.poll_interval = config.team.poll_interval;
    auto jsonl = std::make_shared<JsonlMailbox>(files, clock, std::move(settings));
    return {jsonl, jsonl, jsonl};
  }
};

/// One configuration is one folder, read as the mail of one actor.
class Maildir final : public MailboxSystem {
 public:
  Result<std::vector<std::string>> list(FileSystem&, const config::TeamConfig& config) const override {
    return std::vector<std::string>{config.team.name};
  }
  Result<bool> is_team(FileSystem& files, const config::TeamConfig& config, const std::string& name) const override {
    const auto folder = open_dir_below(files, config.team.folder);
    if (!folder && is_errno(folder.error(), ENOENT)) return false;
    auto way = folder ? require_trusted_above(folder->path) : Status(folder.error());
    if (!way) return Error{way.error().code, "team \"" + name + "\" is not served: " + way.error().message};
    return true;
  }
  std::string location(const config::TeamConfig& config, const std::string&) const override {
    return config.team.folder;
  }
  std::string hints_of(const config::TeamConfig& config, const std::string& name) const override {
    return config.team.inbox_folder(name);
  }
  OpenTeam open(FileSystem& files, const Clock& clock, boost::asio::thread_pool& pool, const config::TeamConfig& config,
                const std::string& name, const std::string&) const override {
    MaildirSettings settings;
    settings.pool = &pool;
    settings.root = config.team.folder;
    settings.team = name;
    settings.lead = config.team.lead;
    if (!config.team.takes_anybody()) settings.members = config.team.members;
    settings.writes = config.team.role != config::Role::observer;
    settings.torn_looks = config.limits.quarantine_after_polls;
    settings.poll_interval = config.team.poll_interval;
    auto maildir = std::make_shared<MaildirMailbox>(files, clock, std::move(settings));
    poller::TaskSettings tasks;
    tasks.max_attempts = config.tasks.max_attempts;
    return {maildir, maildir, nullptr, std::make_shared<MaildirTaskEvents>(files, clock, config.team.folder, tasks)};
  }
};

/// One configuration is one team in a Redis server, read as the mail of one actor.
class Redis final : public MailboxSystem {
 public:
  Result<std::vector<std::string>> list(FileSystem&, const config::TeamConfig& config) const override {
    return std::vector<std::string>{config.team.name};
  }
  /// Returns true always: polls report a missing Redis server, and replies for the team must not wait for Redis.
  Result<bool> is_team(FileSystem&, const config::TeamConfig&, const std::string&) const override { return true; }
  std::string location(const config::TeamConfig& config, const std::string&) const override {
    return config.team.redis.shown();
  }
  std::string hints_of(const config::TeamConfig&, const std::string&) const override { return {}; }
  OpenTeam open(FileSystem&, const Clock& clock, boost::asio::thread_pool&, const config::TeamConfig& config,
                const std::string& name, const std::string& state_dir) const override {
    RedisTeamSettings settings;
    settings.address = config.team.redis;
    settings.team = name;
    settings.lead = config.team.lead;
    if (!config.team.takes_anybody()) settings.members = config.team.members;
    settings.writes = config.team.role != config::Role::observer;
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    settings.reader = "daemon-" + schema::content_hash(std::string(host.data()) + '\n' + state_dir).substr(0, 16);
    settings.served_for = std::max(settings.served_for, 3 * std::chrono::milliseconds(config.team.poll_interval));
    settings.tasks.max_attempts = config.tasks.max_attempts;
    auto redis = std::make_shared<RedisMailbox>(clock, std::move(settings));
    return {redis, redis, nullptr, redis};
  }
};

}  // namespace

const MailboxSystem& system_of(const config::TeamConfig& config) {
  static const Arrays arrays;
  static const Jsonl jsonl;
  static const Maildir maildir;
  static const Redis redis;
  switch (config.team.backend) {
    case config::Backend::jsonl: return jsonl;
    case config::Backend::maildir: return maildir;
    case config::Backend::redis: return redis;
    case config::Backend::claude_code: break;
  }
  return arrays;
}

}  // namespace inbox_poller::poller
