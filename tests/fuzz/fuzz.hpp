// What every fuzz target shares: its name in the one program of all targets, a check that stops with its place, and
// cutting the input into fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#define EXPECT(condition)                                                                 \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Fields separated by a zero byte; always `count` of them, missing ones empty, the last one keeps the rest.
inline std::vector<std::string> fields(std::string_view input, std::size_t count) {
  std::vector<std::string> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = i + 1 < count ? input.find('\0') : std::string_view::npos;
    result[i] = input.substr(0, end);
    if (end == std::string_view::npos) break;
    input.remove_prefix(end + 1);
  }
  return result;
}

namespace inbox_poller::fuzz {

/// Takes one input. Returns 0.
using TryOne = int (*)(const std::uint8_t* data, std::size_t size);

/// Registers a target. The variable FUZZ_TARGET selects it by its name.
struct Target {
  Target(const char* name, TryOne try_one);
};

}  // namespace inbox_poller::fuzz
