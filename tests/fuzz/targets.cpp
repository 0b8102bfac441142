// The entry points of libFuzzer. FUZZ_TARGET names the target.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz {
namespace {

std::map<std::string, TryOne>& targets() {
  static std::map<std::string, TryOne> all;
  return all;
}

TryOne chosen = nullptr;

}  // namespace

Target::Target(const char* name, TryOne try_one) { targets()[name] = try_one; }

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("FUZZ_TARGET");
  const auto found = targets().find(name == nullptr ? "" : name);
  if (found == targets().end()) {
    std::fprintf(stderr, "FUZZ_TARGET must name one of these:");
    for (const auto& [known, one] : targets()) std::fprintf(stderr, " %s", known.c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  chosen = found->second;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return chosen(data, size); }

}  // namespace inbox_poller::fuzz
