#include "poller/control/known_socket.hpp"

#include <filesystem>
#include <system_error>

#include "poller/control/client.hpp"

namespace inbox_poller::poller {

namespace fs = std::filesystem;

namespace {

std::string link_of(const config::DaemonConfig& config) { return config.state_dir + "/control.sock"; }

/// Returns the target of a link; empty when it is not a link.
std::string target_of(const std::string& link) {
  std::error_code problem;
  const fs::path target = fs::read_symlink(link, problem);
  return problem ? std::string() : target.string();
}

}  // namespace

KnownSocket::KnownSocket(const config::DaemonConfig& config) : socket_(config.socket), link_(link_of(config)) {
  std::error_code problem;
  if (socket_ == link_) {
    if (!target_of(link_).empty()) fs::remove(link_, problem);
    return;
  }
  const std::string fresh = link_ + ".new";
  fs::remove(fresh, problem);
  fs::create_symlink(socket_, fresh, problem);
  if (!problem) fs::rename(fresh, link_, problem);
}

KnownSocket::~KnownSocket() {
  std::error_code problem;
  if (target_of(link_) == socket_) fs::remove(link_, problem);
}

std::string reachable_socket(const config::DaemonConfig& config) {
  const std::string link = link_of(config);
  const std::string target = target_of(link);
  const std::string& other = target.empty() ? link : target;  // a daemon without a runtime folder listens there itself
  std::error_code problem;
  if (other == config.socket || !fs::is_socket(link, problem)) return config.socket;
  const auto answers = ControlClient::connect(config.socket);
  return !answers && answers.error().code == code::no_daemon ? other : config.socket;
}

}  // namespace inbox_poller::poller
