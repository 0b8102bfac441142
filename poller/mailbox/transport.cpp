#include "poller/mailbox/transport.hpp"

#include <algorithm>
#include <cerrno>

#include "poller/mailbox/arrays/arrays_mailbox.hpp"

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
  std::string place_of(const config::TeamConfig& config, const std::string& name) const override {
    return config.team.root + "/" + name;
  }
  std::string hints_of(const config::TeamConfig& config, const std::string& name) const override {
    return place_of(config, name) + "/inboxes";
  }
  OpenTeam open(FileSystem& files, const Clock& clock, boost::asio::thread_pool& pool,
                const config::TeamConfig& config, const std::string& name) const override {
    ArraysSettings settings = settings_of(config, name);
    settings.pool = &pool;
    auto arrays = std::make_shared<ArraysMailbox>(files, clock, std::move(settings));
    return {arrays, arrays};
  }
};

}  // namespace

const MailboxSystem& system_of(const config::TeamConfig& config) {
  static const Arrays arrays;
  switch (config.team.transport) {
    case config::Transport::claude: break;
  }
  return arrays;
}

}  // namespace inbox_poller::poller
