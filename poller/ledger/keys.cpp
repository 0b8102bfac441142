#include "poller/ledger/keys.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace inbox_poller::poller {
namespace {

constexpr std::size_t digits = 32;
constexpr std::size_t bytes_of_digits = digits / 2;
constexpr std::string_view hexadecimal = "0123456789abcdef";
bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 20 && text.front() != '0' &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

constexpr std::uint8_t no_digit = 0xFF;
constexpr auto values = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(no_digit);
  for (std::size_t i = 0; i < hexadecimal.size(); ++i)
    table[static_cast<unsigned char>(hexadecimal[i])] = static_cast<std::uint8_t>(i);
  return table;
}();

std::uint8_t value_of(char digit) { return values[static_cast<unsigned char>(digit)]; }

bool are_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return value_of(c) != no_digit; });
}

std::string packed(std::string_view text) {
  std::string bytes(text.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(value_of(text[2 * i]) << 4 | value_of(text[2 * i + 1]));
  return bytes;
}

}  // namespace

std::optional<std::string> key_bytes(std::string_view key) {
  if (key.empty()) return std::string();
  const auto first = key.substr(0, digits);
  if (first.size() < digits || !are_digits(first)) return std::nullopt;
  if (key.size() == digits) return packed(first);
  const auto number = key.substr(digits + 1);
  if (key[digits] != '-' || !is_number(number)) return std::nullopt;
  return packed(first) + std::string(number);
}

std::optional<std::string> key_text(std::string_view bytes) {
  if (bytes.empty()) return std::string();
  if (bytes.size() < bytes_of_digits) return std::nullopt;
  std::string text;
  for (const char c : bytes.substr(0, bytes_of_digits)) {
    text += hexadecimal[static_cast<unsigned char>(c) / 16];
    text += hexadecimal[static_cast<unsigned char>(c) % 16];
  }
  const auto number = bytes.substr(bytes_of_digits);
  if (number.empty()) return text;
  if (!is_number(number)) return std::nullopt;
  return text + '-' + std::string(number);
}

std::optional<std::pair<std::string, std::string>> key_range(std::string_view prefix) {
  const auto first = prefix.substr(0, digits);
  if (!are_digits(first)) return std::nullopt;
  std::string low = packed(std::string(first) + (first.size() % 2 == 0 ? "" : "0"));
  std::string high = packed(std::string(first) + (first.size() % 2 == 0 ? "" : "f"));
  if (prefix.size() > digits) {
    const auto number = prefix.substr(digits + 1);
    if (prefix[digits] != '-' || (!number.empty() && !is_number(number))) return std::nullopt;
    low += number.empty() ? "1" : number;  // the lowest number in the order of the bytes
    high += number;
  }
  return std::pair(std::move(low), high + std::string(40, '\xff'));  // longer than any key
}

}  // namespace inbox_poller::poller
