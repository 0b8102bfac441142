// simulate: plays histories and judges them. tests/sim/run is its front.
//   --seed N         the first seed
//   --profile P      one profile; default: each in turn, by the seed
//   --mailbox M      arrays, jsonl or maildir; default: by the seed
//   --histories K    how many, with seeds from N on
//   --episodes E     how many times with faults a history has; default: 6
//   --without A,B    leaves peers and faults out
//   --trace          prints what happens
//   --digest         prints a hash of each history
//   --coverage       prints how often each row of the decision tables was visited
//   --exchange FILE  compares the models with what a real client did (tests/clients/exchanges)
//   --shrink         looks for a smaller history with the same violation, and prints its line
// Each history is a process of its own, because some of the product's static state outlives a daemon.
// Leaves with 1 after the first history with a violation, and prints the line that replays it.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/sim/coverage.hpp"
#include "tests/sim/exchange.hpp"
#include "tests/sim/world.hpp"

namespace inbox_poller::sim {
namespace {

struct Options {
  std::uint64_t seed = 1, histories = 1;
  std::string profile;
  std::optional<System> system;
  std::string exchange;
  Setup setup;
  bool digests = false, covers = false, shrinks = false;
};

/// Returns false for an unknown option or value.
bool read(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto is = [&](const char* name, bool& flag) { return word == name && (flag = true); };
    if (is("--trace", options.setup.traces) || is("--digest", options.digests) || is("--coverage", options.covers) ||
        is("--shrink", options.shrinks))
      continue;
    if (++i == argc) return false;
    const std::string value = argv[i];
    if (word == "--seed") {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--histories") {
      options.histories = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--episodes") {
      options.setup.episodes = std::atoi(value.c_str());
    } else if (word == "--profile") {
      options.profile = value;
      if (profile_of(value) == nullptr) return false;
    } else if (word == "--exchange") {
      options.exchange = value;
    } else if (word == "--mailbox") {
      for (const auto system : {System::arrays, System::jsonl, System::maildir})
        if (value == name_of(system)) options.system = system;
      if (!options.system) return false;
    } else if (word == "--without") {
      std::istringstream parts(value);
      for (std::string part; std::getline(parts, part, ',');) options.setup.without.insert(part);
    } else {
      return false;
    }
  }
  return true;
}

std::string line_of(std::uint64_t seed, const Setup& setup) {
  std::string line = "tests/sim/run --seed " + std::to_string(seed) + " --profile " + setup.profile->name +
                     " --mailbox " + name_of(setup.system);
  if (setup.episodes != Setup().episodes) line += " --episodes " + std::to_string(setup.episodes);
  std::string parts;
  for (const auto& part : setup.without) parts += (parts.empty() ? "" : ",") + part;
  return line + (parts.empty() ? "" : " --without " + parts) + " --trace";
}

struct Outcome {
  std::vector<std::string> violations;
  Coverage coverage;
  std::string digest;
};

/// Plays a history and says in lines what came of it.
std::string played(std::uint64_t seed, const Setup& setup, bool covers) {
  std::string said;
  World world(seed, setup);
  for (const auto& violation : world.play()) said += "V" + violation + "\n";
  char digest[20];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(world.digest()));
  said += std::string("D") + digest + "\n";
  Coverage coverage;
  if (covers) coverage.read(world.log());
  for (const auto& [row, count] : coverage.visits()) said += "C" + std::to_string(count) + " " + row + "\n";
  return said;
}

/// Plays a history in a process of its own. The end of that process is a violation.
Outcome play_one(std::uint64_t seed, const Setup& setup, bool covers = false) {
  int ends[2];
  std::fflush(stdout);
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    const auto said = played(seed, setup, covers);
    std::fflush(stdout);
    for (std::size_t at = 0; at < said.size();) {
      const auto count = ::write(ends[1], said.data() + at, said.size() - at);
      if (count <= 0) break;
      at += static_cast<std::size_t>(count);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  char some[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], some, sizeof some)) > 0;)
    said.append(some, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  Outcome outcome;
  if (status != 0) outcome.violations.push_back("the program ended with status " + std::to_string(status));
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == 'V') outcome.violations.push_back(line.substr(1));
    if (line[0] == 'D') outcome.digest = line.substr(1);
    if (line[0] == 'C')
      outcome.coverage.visit(line.substr(line.find(' ') + 1), std::strtoll(line.c_str() + 1, nullptr, 10));
  }
  return outcome;
}

/// The first words of a violation, without names and numbers.
std::string kind_of(const std::vector<std::string>& violations) {
  if (violations.empty()) return {};
  std::istringstream words(violations.front());
  std::string kind;
  int left = 4;
  for (std::string word; left > 0 && words >> word;) {
    if (word.find_first_of("0123456789") != std::string::npos) continue;  // a name, or a number
    kind += word + " ";
    --left;
  }
  return kind;
}

/// A smaller setup means other dice, so a few seeds are tried for each.
struct Shrinker {
  std::uint64_t seed;
  Setup setup;
  std::string kind;

  bool takes(const Setup& smaller) {
    constexpr std::uint64_t seeds = 12;
    for (std::uint64_t i = 0; i < seeds; ++i) {
      if (kind_of(play_one(seed + i, smaller).violations) != kind) continue;
      seed += i;
      setup = smaller;
      return true;
    }
    return false;
  }

  void shrink() {
    setup.traces = false;
    for (int episodes = 1; episodes < setup.episodes; ++episodes) {
      auto shorter = setup;
      shorter.episodes = episodes;
      if (takes(shorter)) break;
    }
    for (const auto& part : parts_of_a_world()) {
      auto smaller = setup;
      if (smaller.without.insert(part).second) takes(smaller);
    }
  }
};

int play(Options options) {
  Coverage coverage;
  for (std::uint64_t i = 0; i < options.histories; ++i) {
    const auto seed = options.seed + i;
    options.setup.profile = profile_of(options.profile.empty() ? profile_by(seed) : options.profile);
    const bool has_nodes = options.setup.profile->network_every.count() > 0;  // only array inboxes are on several machines
    options.setup.system = has_nodes ? System::arrays : options.system.value_or(system_by(seed, *options.setup.profile));
    const auto outcome = play_one(seed, options.setup, options.covers);
    const auto& violations = outcome.violations;
    for (const auto& [row, count] : outcome.coverage.visits()) coverage.visit(row, count);
    if (options.digests)
      std::printf("%llu %s %s\n", static_cast<unsigned long long>(seed), options.setup.profile->name.c_str(),
                  outcome.digest.c_str());
    if (violations.empty()) continue;
    for (const auto& what : violations) std::printf("violated: %s\n", what.c_str());
    std::printf("after %llu histories; replay: %s\n", static_cast<unsigned long long>(i + 1),
                line_of(seed, options.setup).c_str());
    if (options.shrinks) {
      Shrinker shrinker{seed, options.setup, kind_of(violations)};
      shrinker.shrink();
      std::printf("smaller: %s\n", line_of(shrinker.seed, shrinker.setup).c_str());
    }
    return 1;
  }
  if (options.covers) std::printf("%s", coverage.report().c_str());
  return 0;
}

}  // namespace
}  // namespace inbox_poller::sim

int main(int argc, char** argv) {
  // A history lasts a second: to give memory back to the kernel costs more than to keep it.
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_ARENA_MAX, 1);
  inbox_poller::sim::Options options;
  if (!read(argc, argv, options)) {
    std::fprintf(stderr, "simulate: unknown option or value; tests/sim/main.cpp lists them\n");
    return 2;
  }
  return options.exchange.empty() ? play(options) : inbox_poller::sim::compare_exchange(options.exchange);
}
