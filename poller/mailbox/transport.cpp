#include "poller/mailbox/transport.hpp"

#include "poller/mailbox/arrays/arrays_mailbox.hpp"

namespace inbox_poller::poller {

OpenTeam open_team(FileSystem& files, const Clock& clock, boost::asio::thread_pool& pool,
                   const config::TeamConfig& config, const std::string& name) {
  ArraysSettings settings = settings_of(config, name);
  settings.pool = &pool;
  auto arrays = std::make_shared<ArraysMailbox>(files, clock, std::move(settings));
  return {arrays, arrays};
}

}  // namespace inbox_poller::poller
