#include "poller/mailbox/float_seconds.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "schema/ids.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {

namespace {

constexpr std::size_t fraction_at = 20;  // in `2026-02-07T15:20:46.348Z`

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string timestamp_of_seconds(std::string_view token) {
  if (const auto text = schema::decode_string(token)) return *text;
  const std::size_t point = std::min(token.find('.'), token.size());
  const std::string_view seconds = token.substr(0, point);
  const std::string_view fraction = token.substr(std::min(point + 1, token.size()));
  long long whole = 0;
  if (!is_digits(seconds) || seconds.size() > 11 || (point < token.size() && (!is_digits(fraction) || fraction.size() > 9)))
    return std::string(token);
  std::from_chars(seconds.data(), seconds.data() + seconds.size(), whole);
  std::string text = schema::iso_timestamp(whole * 1000);
  std::string digits(fraction);
  if (digits.size() < 3) digits.resize(3, '0');
  return text.replace(fraction_at, 3, digits);
}

std::string seconds_of_timestamp(std::string_view timestamp) {
  if (timestamp.size() <= fraction_at || !timestamp.ends_with('Z')) return "0.0";
  const std::string_view fraction = timestamp.substr(fraction_at, timestamp.size() - fraction_at - 1);
  constexpr std::string_view form = "0000-00-00T00:00:00.";
  std::array<unsigned, 6> part{};
  for (std::size_t i = 0, number = 0; i < form.size(); ++i) {
    const char c = timestamp[i];
    if (form[i] == '0' ? c < '0' || c > '9' : c != form[i]) return "0.0";
    if (form[i] == '0')
      part[number] = part[number] * 10 + static_cast<unsigned>(c - '0');
    else
      ++number;
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(part[0])), std::chrono::month(part[1]),
                                         std::chrono::day(part[2])};
  if (!date.ok() || !is_digits(fraction)) return "0.0";
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  const long long seconds = std::chrono::duration_cast<std::chrono::seconds>(days).count() + part[3] * 3600LL +
                            part[4] * 60LL + part[5];
  const std::size_t last = fraction.find_last_not_of('0');
  return std::to_string(seconds) + "." + (last == std::string_view::npos ? "0" : std::string(fraction.substr(0, last + 1)));
}

}  // namespace inbox_poller::poller
