#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "config/rules.hpp"
#include "config/text.hpp"

namespace inbox_poller::config {
namespace {

Error refusal(std::string_view written, std::string_view why) {
  std::string shown(written.substr(0, 80));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return {"host.not_canonical", "\"" + shown + "\" is not a plain host: " + std::string(why)};
}

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

/// Returns the system's spelling of an address, or nothing. IPv6 that contains an IPv4 address gives that address.
std::optional<std::string> address(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (inet_pton(family, text.c_str(), bytes.data()) != 1) return std::nullopt;
  static constexpr std::array<unsigned char, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  const bool wraps = family == AF_INET6 && std::equal(mapped.begin(), mapped.end(), bytes.begin());
  std::array<char, INET6_ADDRSTRLEN> out{};
  inet_ntop(wraps ? AF_INET : family, wraps ? bytes.data() + mapped.size() : bytes.data(), out.data(), out.size());
  return std::string(out.data());
}

/// Parses ":443". Refuses a leading zero, which could be read as octal.
std::optional<unsigned short> parse_port(std::string_view text) {
  unsigned short port = 0;
  if (text.size() < 2 || text[0] != ':' || text[1] == '0') return std::nullopt;
  const auto [end, failure] = std::from_chars(text.data() + 1, text.data() + text.size(), port);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

/// Returns true if the last label is numeric, so that browsers and resolvers read a number: 2130706433, 127.1,
/// 0x7f.0.0.1.
bool is_numeric(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  const bool hex = last.starts_with("0x") && last.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
  return hex || last.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::string> label_problem(std::string_view name) {
  if (name.size() > 253) return "it is longer than 253 characters";
  while (true) {
    const std::string_view label = name.substr(0, name.find('.'));
    if (label.empty()) return "it has an empty label";
    if (label.size() > 63) return "a label is longer than 63 characters";
    if (label.front() == '-' || label.back() == '-') return "a label begins or ends with '-'";
    if (label.size() == name.size()) return std::nullopt;
    name.remove_prefix(label.size() + 1);
  }
}

}  // namespace

Result<CanonicalHost> canonical_host(std::string_view written) {
  if (written.empty()) return refusal(written, "it is empty");
  if (written.find('*') != std::string_view::npos)
    return refusal(written, "it is a pattern, and only one host can be asked for");
  if (std::ranges::any_of(written, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    return refusal(written, "it has non-ASCII characters; an international name must come in its xn-- form");
  }
  CanonicalHost host;
  const bool bracketed = written.front() == '[';
  const std::size_t end = std::min(written.find(bracketed ? ']' : ':'), written.size());
  host.name = to_lower(written.substr(bracketed, end - bracketed));
  if (bracketed) {
    const auto ip = end < written.size() ? address(AF_INET6, host.name) : std::nullopt;
    if (!ip) return refusal(written, "the brackets hold no IPv6 address");
    host.name = *ip;
    host.is_ip = true;
  } else if (std::ranges::count(written, ':') > 1) {
    return refusal(written, "IPv6 stands without brackets, which may hide a port");
  }
  const std::string_view rest = written.substr(std::min(end + bracketed, written.size()));
  host.port = parse_port(rest);
  if (!rest.empty() && !host.port) return refusal(written, "what follows the host is not a port");
  if (bracketed) return host;

  if (host.name.ends_with('.')) host.name.pop_back();
  const auto odd = std::ranges::find_if_not(host.name, is_host_char);
  if (odd != host.name.end()) {
    return refusal(written, *odd > ' ' && *odd <= '~' ? "'" + std::string(1, *odd) + "' does not belong in a host name"
                                                      : "it has white space or control characters");
  }
  if (const auto problem = label_problem(host.name)) return refusal(written, *problem);
  if (is_numeric(host.name)) {
    if (address(AF_INET, host.name) != host.name) return refusal(written, "an IPv4 address needs four decimal numbers");
    host.is_ip = true;
  }
  return host;
}

Result<HostPattern> parse_host_pattern(std::string_view text) {
  HostPattern pattern;
  pattern.text = text;
  const auto invalid = [&](std::string_view why) {
    return Error{"config.host_pattern",
                 "\"" + std::string(text) + "\" is not a host pattern: " + std::string(why) +
                     "; write a host, \"*.example.com\" for what is below it, or \"*\", each with " +
                     "\":port\" if only that port is meant, and IPv6 as \"[::1]\""};
  };
  std::string_view host = text;
  if (host == "*" || host.starts_with("*:")) {
    pattern.any = true;
    pattern.port = parse_port(host.substr(1));
    if (host != "*" && !pattern.port) return invalid("what follows the host is not a port");
    return pattern;
  }
  pattern.subdomains = host.starts_with("*.");
  if (pattern.subdomains) host.remove_prefix(2);
  if (host.find('*') != std::string_view::npos) return invalid("a '*' may only stand alone or in front, as \"*.\"");
  if (host.find("//") != std::string_view::npos) return invalid("it is a URL");
  const auto canonical = canonical_host(host);
  if (!canonical)
    return invalid(std::string_view(canonical.error().message).substr(canonical.error().message.rfind(": ") + 2));
  if (pattern.subdomains && canonical->is_ip) return invalid("an IP address cannot have subdomains");
  pattern.name = canonical->name;
  pattern.port = canonical->port;
  return pattern;
}

bool host_matches(const HostPattern& pattern, const CanonicalHost& host, Side side) {
  if (pattern.port && host.port != pattern.port && (host.port || side == Side::grant)) return false;
  if (pattern.any) return true;
  if (!pattern.subdomains) return host.name == pattern.name;
  return !host.is_ip && host.name.size() > pattern.name.size() + 1 && host.name.ends_with("." + pattern.name);
}

Verdict judge_host(const HostRules& rules, std::string_view written, Action default_action) {
  const auto host = canonical_host(written);
  if (!host) return {Action::deny, "", host.error().message};
  for (const HostPattern& rule : rules.deny)
    if (host_matches(rule, *host, Side::restrict)) return {Action::deny, rule.text, "a deny rule names this host"};
  for (const HostPattern& rule : rules.ask)
    if (host_matches(rule, *host, Side::restrict)) return {Action::ask, rule.text, "an ask rule names this host"};
  for (const HostPattern& rule : rules.allow)
    if (host_matches(rule, *host, Side::grant)) return {Action::allow, rule.text, "an allow rule names this host"};
  return {default_action, "", "no rule names this host"};
}

}  // namespace inbox_poller::config
