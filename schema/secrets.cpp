#include "schema/secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "schema/json_scan.hpp"

namespace inbox_poller::schema {

namespace {

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(' ', at), text.size());
}

/// Returns the value that begins here: up to its closing quote, or a word of a shell or a URL.
Span value_at(std::string_view text, std::size_t at) {
  const bool is_quoted = at < text.size() && (text[at] == '"' || text[at] == '\'');
  if (is_quoted) return {at + 1, std::min(text.find(text[at], at + 1), text.size())};
  return {at, std::min(text.find_first_of(" \t\r\n\"'&;", at), text.size())};
}

// The beginnings of secrets, and of words before secrets; the second and third list in any case.
constexpr std::array<std::string_view, 12> secret_prefixes = {
    "sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-", "AKIA", "AIza", "eyJhbGciOi"};
constexpr std::array<std::string_view, 4> introductions = {"bearer ", "authorization: basic ", "authorization: token ",
                                                           "authorization: digest "};
constexpr std::array<std::string_view, 10> secret_names = {
    "password", "passwd", "passphrase", "secret", "token", "api_key", "api-key", "apikey", "private_key", "credential"};
constexpr std::array<std::string_view, 3> before_a_name = {"://", "-u ", "--user "};
constexpr std::string_view private_key = "-----BEGIN ";

constexpr unsigned fold(char c) { return static_cast<unsigned char>(c) | 0x20U; }  // of letters: the lower-case one

/// For the first byte of each beginning, folded: the possible second and third bytes, by their low five bits. A
/// hexadecimal key has one of the pairs in every fourth case.
constexpr auto following = [] {
  std::array<std::array<std::uint32_t, 2>, 256> table{};
  const auto add = [&](const auto& words) {
    for (const std::string_view word : words) {
      table[fold(word[0])][0] |= 1U << (fold(word[1]) & 31U);
      table[fold(word[0])][1] |= 1U << (fold(word[2]) & 31U);
    }
  };
  add(secret_prefixes);
  add(introductions);
  add(secret_names);
  add(before_a_name);
  add(std::array{private_key});
  return table;
}();

/// Returns the value of `password=…`, `"api_key": "…"`, `AWS_SECRET_ACCESS_KEY=…` or `--token …`, if such a name is at
/// `i`.
Span named_secret(std::string_view text, std::string_view lower, std::size_t i) {
  const auto rest = lower.substr(i);
  const auto name = std::find_if(secret_names.begin(), secret_names.end(), [&](auto n) { return rest.starts_with(n); });
  if (name == secret_names.end()) return {};
  std::size_t at = i + name->size();
  while (at < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_' || text[at] == '-'))
    ++at;
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;  // of a key in JSON
  const std::size_t sign = skip_spaces(text, at);
  if (sign < text.size() && (text[sign] == '=' || text[sign] == ':'))
    return value_at(text, skip_spaces(text, sign + 1));
  const std::size_t word = text.find_last_of(" \t\r\n\"'", i);
  const bool is_option = text.substr(word == std::string_view::npos ? 0 : word + 1).starts_with('-');
  return is_option && sign > at ? value_at(text, sign) : Span{};
}

/// Returns the password of `://name:password@host`, `-u name:password` or `--user name:password`, if one begins at `i`.
Span password_behind_name(std::string_view text, std::size_t i) {
  for (const auto words : before_a_name) {
    if (!text.substr(i).starts_with(words)) continue;
    const auto value = value_at(text, skip_spaces(text, i + words.size()));
    const auto word = value.of(text);
    const auto end = words == "://" ? word.substr(0, word.find('/')).rfind('@') : word.size();
    const auto colon = word.find(':');
    if (end != std::string_view::npos && colon < end) return {value.begin + colon + 1, value.begin + end};
  }
  return {};
}

/// Returns the secret that begins at `i` or after the introduction there; empty if there is none.
Span secret_at(std::string_view text, std::string_view lower, std::size_t i) {
  const auto rest = text.substr(i);
  const auto lower_rest = lower.substr(i);
  if (rest.starts_with(private_key) && rest.find("PRIVATE KEY") != std::string_view::npos) return {i, text.size()};
  for (const auto prefix : secret_prefixes)
    if (rest.starts_with(prefix))
      if (const auto value = value_at(text, i); value.size() >= prefix.size() + 8) return value;
  for (const auto words : introductions)
    if (lower_rest.starts_with(words)) return value_at(text, skip_spaces(text, i + words.size()));
  if (const auto password = password_behind_name(text, i); password.size() > 0) return password;
  return named_secret(text, lower, i);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

}  // namespace

bool may_begin_secret(std::string_view text, std::size_t i) {
  if (i + 2 >= text.size()) return false;
  const auto has = [](std::uint32_t bytes, char c) { return (bytes >> (fold(c) & 31U) & 1U) != 0; };
  const auto& [second, third] = following[fold(text[i])];
  return has(second, text[i + 1]) && has(third, text[i + 2]);
}

std::string mask_secrets(std::string_view text) {
  std::string lower;  // made on demand
  std::string out;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size();) {
    Span secret;
    if (may_begin_secret(text, i)) {
      if (lower.empty()) lower = lower_case(text);
      secret = secret_at(text, lower, i);
    }
    if (secret.size() == 0) {
      ++i;
      continue;
    }
    out.append(text.substr(copied, secret.begin - copied)).append("***");
    i = copied = secret.end;
  }
  return out.append(text.substr(copied));
}

}  // namespace inbox_poller::schema
