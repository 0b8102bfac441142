#include "commit.hpp"
#include "poller/cli/command_line.hpp"

namespace inbox_poller::poller::cli {

std::string version_text() {
  return "inbox-poller " INBOX_POLLER_VERSION "\ncommit " INBOX_POLLER_COMMIT "\nbuilt with " INBOX_POLLER_LIBRARIES;
}

}  // namespace inbox_poller::poller::cli
