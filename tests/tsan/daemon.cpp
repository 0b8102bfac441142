// The daemon without the command line, which has no threads: what the flows start under ThreadSanitizer.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "poller/daemon.hpp"

int main(int argc, char** argv) {
  using namespace inbox_poller;
  poller::RunOptions options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& name = words[i];
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    if (name == "--once") {
      options.polls = 1;
      continue;
    }
    if (name == "--new-ledger") {
      options.new_ledger = true;
      continue;
    }
    ++i;
    if (name == "--config") {
      options.sources.files.push_back(value);
    } else if (name == "--daemon-config") {
      options.sources.daemon_file = value;
    } else if (name == "--polls") {
      options.polls = static_cast<unsigned>(std::stoul(value));
    } else if (name == "--log-format" && value == "json") {
      options.log_format = config::LogFormat::json;
    } else if (name == "--log-level" && value == "debug") {
      options.log_level = config::LogLevel::debug;
    } else {
      std::cerr << name << ' ' << value << ": `inbox-poller run` may take it, and this program does not\n";
      return EXIT_FAILURE;
    }
  }
  return poller::run_daemon(options);
}
