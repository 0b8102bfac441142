#include "config/units.hpp"

#include <charconv>
#include <cstdint>
#include <limits>

namespace inbox_poller::config {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// From large to small: a value is shown in the first unit that divides it. Decimal sizes are read, binary ones shown.
constexpr Unit durations[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"min", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr Unit sizes[] = {{"GiB", 1U << 30}, {"MiB", 1U << 20}, {"KiB", 1U << 10}, {"GB", 1'000'000'000},
                          {"MB", 1'000'000}, {"kB", 1'000},     {"B", 1}};

template <std::size_t N>
Result<std::uint64_t> parse(std::string_view text, const Unit (&units)[N], std::string_view expected) {
  const Error invalid{"config.unit", "\"" + std::string(text) + "\" is not " + std::string(expected)};
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return invalid;
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (number > most / unit.factor) return invalid;
    return number * unit.factor;
  }
  return invalid;
}

template <std::size_t N>
std::string show(std::uint64_t value, const Unit (&units)[N]) {
  for (const Unit& unit : units) {
    if (value >= unit.factor && value % unit.factor == 0) return std::to_string(value / unit.factor).append(unit.name);
  }
  return std::to_string(value).append(units[N - 1].name);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto value =
      parse(text, durations, "a duration; write a whole number with ms, s, min, h or d, such as \"500ms\"");
  if (!value) return value.error();
  return Duration(static_cast<Duration::rep>(*value));
}

Result<Bytes> parse_bytes(std::string_view text) {
  const auto value =
      parse(text, sizes, "a size; write a whole number with B, KiB, MiB, GiB, kB, MB or GB, such as \"64MiB\"");
  if (!value) return value.error();
  return Bytes{*value};
}

std::string to_text(Duration duration) { return show(static_cast<std::uint64_t>(duration.count()), durations); }
std::string to_text(Bytes bytes) { return show(bytes.count, sizes); }

}  // namespace inbox_poller::config
