#include "poller/cli/clients.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>

#include "poller/child.hpp"
#include "poller/cli/settings_file.hpp"
#include "poller/context/client_sessions.hpp"

namespace inbox_poller::poller::cli {

namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view client_name = "claude";
constexpr std::size_t most_clients = 8;
constexpr std::chrono::milliseconds answer_within{10'000};
constexpr std::size_t most_output = 4096;

asio::awaitable<void> ask(Client& client) {
  ChildCommand command;
  command.argv = {client.path, "--version"};
  command.environment = {{"DISABLE_AUTOUPDATER", "1"}};  // a question for the version must not start an update
  command.timeout = answer_within;
  command.most_output = most_output;
  const auto result = co_await run_child(std::move(command));
  if (!result) {
    client.problem = result.error().message;
  } else if (result->timed_out) {
    client.problem = "it did not say its version in time";
  } else if (client.version = schema::parse_client_version(result->output); !client.version) {
    client.problem = "its answer to --version is not a version";
  }
}

void ask_all(std::vector<Client>& clients) {
  asio::io_context context;
  for (Client& client : clients)
    asio::co_spawn(context, ask(client), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
  context.run();
}

/// Adds versions of running sessions, wherever PATH leads.
void add_running(std::vector<Client>& clients) {
  const auto settings = settings_path("user");
  if (!settings) return;
  PosixFileSystem files;
  SystemProcesses processes;
  for (const LiveSession& live : live_sessions(files, processes, (settings->parent_path() / "sessions").string())) {
    const auto version = schema::parse_client_version(live.said.version);
    const bool known = std::any_of(clients.begin(), clients.end(), [&](const Client& one) { return one.version == version; });
    if (version && !known) clients.push_back({"process " + std::to_string(live.process.pid), version, ""});
  }
}

bool is_program(const fs::path& path) {
  std::error_code problem;
  return fs::is_regular_file(path, problem) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string to_string(const Client& client) {
  return "client " + (client.version ? schema::to_string(*client.version) : "of unknown version") + " (" + client.path +
         ")";
}

Client ask_client(const std::string& program) {
  std::vector<Client> one{{program, std::nullopt, ""}};
  ask_all(one);
  return std::move(one.front());
}

std::vector<Client> find_clients() {
  std::vector<Client> clients;
  std::set<std::string> seen;
  const char* variable = std::getenv("PATH");
  std::string_view rest(variable == nullptr ? "" : variable);
  while (!rest.empty() && clients.size() < most_clients) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const fs::path program = fs::path(rest.substr(0, end)) / client_name;
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::error_code problem;
    if (!program.is_absolute() || !is_program(program)) continue;
    if (seen.insert(fs::canonical(program, problem).string()).second)
      clients.push_back({program.string(), std::nullopt, ""});
  }
  ask_all(clients);
  add_running(clients);
  return clients;
}

schema::ClientVersion oldest_of(const std::vector<Client>& clients) {
  if (clients.empty()) return schema::oldest_client;
  const auto version = [](const Client& client) { return client.version.value_or(schema::oldest_client); };
  const auto oldest = std::min_element(clients.begin(), clients.end(),
                                       [&](const Client& a, const Client& b) { return version(a) < version(b); });
  return version(*oldest);
}

}  // namespace inbox_poller::poller::cli
