#include "schema/ids.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <span>

#include "schema/odd_characters.hpp"
#include "schema/sha256.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::string_view name_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
constexpr std::string_view id_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@._:+=-";

bool consists_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 0x0F];
  }
  return text;
}

/// The length precedes each part, so that ("ab", "c") and ("a", "bc") are different identities.
MessageKey key_of(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += 8 + part.size();
  std::string framed;
  framed.reserve(size);
  for (const std::string_view part : parts) {
    for (int shift = 0; shift < 64; shift += 8) framed += static_cast<char>(std::uint64_t{part.size()} >> shift);
    framed += part;
  }
  const auto digest = sha256(framed);
  return {hexadecimal(std::span(digest).first(16))};
}

}  // namespace

bool is_valid_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '-' && consists_of(name, name_characters);
}

std::string inbox_name(std::string_view member) {
  std::string name;
  for (std::size_t at = 0; at < member.size();) {
    const CodePoint point = code_point_at(member, at);
    const bool stays =
        point.value < 0x80 && name_characters.find(static_cast<char>(point.value)) != std::string_view::npos;
    name += stays ? std::string(1, member[at]) : std::string(point.value >= 0x10000 ? 2 : 1, '-');
    at += point.length;
  }
  return name;
}

bool is_inbox_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 && consists_of(name, name_characters);
}

std::string_view bare_name(std::string_view name_or_agent_id) {
  return name_or_agent_id.substr(0, name_or_agent_id.find('@'));
}

bool is_found_by_old_clients(std::string_view team) {
  return !team.empty() && consists_of(team, "abcdefghijklmnopqrstuvwxyz0123456789-");
}

bool is_seen(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (!point.valid || point.value == 0xFFFD || is_odd(point.value)) return false;
    at += point.length;
  }
  return true;
}

bool is_pane_id(std::string_view text) {
  return text.size() >= 2 && text.size() <= 10 && text.front() == '%' &&
         text.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

bool is_valid_request_id(std::string_view id) {
  return !id.empty() && id.size() <= 256 && id.front() != '@' && consists_of(bare_name(id), id_characters) && is_seen(id);
}

MessageKey make_message_key(const KeyScope& scope, std::string_view from, std::string_view timestamp,
                            std::string_view text, std::size_t occurrence) {
  return with_occurrence(key_of({"message", scope.team, scope.inbox, from, timestamp, text}), occurrence);
}

MessageKey make_bad_entry_key(const KeyScope& scope, std::string_view bytes, std::size_t occurrence) {
  return with_occurrence(key_of({"bad entry", scope.team, scope.inbox, bytes}), occurrence);
}

MessageKey with_occurrence(const MessageKey& key, std::size_t occurrence) {
  MessageKey result{key.value.substr(0, key.value.find('-'))};
  if (occurrence > 0) result.value += "-" + std::to_string(occurrence);
  return result;
}

std::size_t occurrence_of(const MessageKey& key) {
  const std::size_t dash = key.value.find('-');
  std::size_t occurrence = 0;
  if (dash != std::string::npos) {
    std::from_chars(key.value.data() + dash + 1, key.value.data() + key.value.size(), occurrence);
  }
  return occurrence;
}

std::string content_hash(std::string_view bytes) { return hexadecimal(sha256(bytes)); }

std::string uuid_from(std::string_view seed) {
  auto digest = sha256(seed);
  digest[6] = static_cast<std::uint8_t>((digest[6] & 0x0F) | 0x80);  // version 8: "vendor specific"
  digest[8] = static_cast<std::uint8_t>((digest[8] & 0x3F) | 0x80);  // variant 10
  std::string text = hexadecimal(std::span(digest).first(16));
  for (const std::size_t position : {8u, 13u, 18u, 23u}) text.insert(position, 1, '-');
  return text;
}

std::string iso_timestamp(long long epoch_ms) {
  namespace chrono = std::chrono;
  constexpr long long first = -62'167'219'200'000;  // 0000-01-01T00:00:00.000Z
  constexpr long long last = 253'402'300'799'999;   // 9999-12-31T23:59:59.999Z
  const chrono::milliseconds since_epoch{std::clamp(epoch_ms, first, last)};
  const auto day = chrono::floor<chrono::days>(since_epoch);
  const chrono::year_month_day date{chrono::sys_days{day}};
  const chrono::hh_mm_ss time{since_epoch - day};

  std::string text = "0000-00-00T00:00:00.000Z";
  const auto put = [&](std::size_t end, long long number) {
    for (; number > 0; number /= 10) text[--end] = static_cast<char>('0' + number % 10);
  };
  put(4, static_cast<int>(date.year()));
  put(7, static_cast<unsigned>(date.month()));
  put(10, static_cast<unsigned>(date.day()));
  put(13, time.hours().count());
  put(16, time.minutes().count());
  put(19, time.seconds().count());
  put(23, time.subseconds().count());
  return text;
}

}  // namespace inbox_poller::schema
