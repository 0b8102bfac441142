// simulate: plays histories and judges them. tests/sim/run is its front.
//   --seed N         the first seed
//   --profile P      one profile; default: each in turn, by the seed
//   --histories K    how many, with seeds from N on
//   --trace          prints what happens
// Leaves with 1 after the first history with a violation, and prints the line that replays it.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/sim/world.hpp"

int main(int argc, char** argv) {
  using namespace inbox_poller::sim;
  std::uint64_t seed = 1;
  std::uint64_t histories = 1;
  std::string only;
  bool traces = false;
  bool digests = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--trace") {
      traces = true;
      continue;
    }
    if (word == "--digest") {
      digests = true;
      continue;
    }
    ++i;
    if (word == "--seed") {
      seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--histories") {
      histories = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--profile" && profile_of(value) != nullptr) {
      only = value;
    } else {
      std::fprintf(stderr, "simulate: unknown option or value: %s %s\n", word.c_str(), value.c_str());
      return 2;
    }
  }
  const auto names = profile_names();
  for (std::uint64_t i = 0; i < histories; ++i) {
    const auto name = only.empty() ? names[(seed + i) % names.size()] : only;
    World world(seed + i, *profile_of(name), traces);
    const auto violations = world.play();
    if (digests)
      std::printf("%llu %s %016llx\n", static_cast<unsigned long long>(seed + i), name.c_str(),
                  static_cast<unsigned long long>(world.digest()));
    if (violations.empty()) continue;
    for (const auto& what : violations) std::printf("violated: %s\n", what.c_str());
    std::printf("after %llu histories; replay: tests/sim/run --seed %llu --profile %s --trace\n",
                static_cast<unsigned long long>(i + 1), static_cast<unsigned long long>(seed + i), name.c_str());
    return 1;
  }
  return 0;
}
