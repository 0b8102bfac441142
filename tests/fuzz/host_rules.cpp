// Any text as a host: one canonical spelling, and an allow only for what plainly lies below the allowed domain.
#include "config/rules.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_host_rules {

using namespace inbox_poller::config;

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view written = as_text(data, size);
  if (const auto host = canonical_host(written)) {
    EXPECT(!host->name.empty());
    const bool v6 = host->is_ip && host->name.find(':') != std::string::npos;
    const auto again = canonical_host(v6 ? "[" + host->name + "]" : host->name);
    EXPECT(again.ok() && again->name == host->name && again->is_ip == host->is_ip && !again->port);
  }
  static const HostRules rules{{}, {}, {*parse_host_pattern("*.example.com"), *parse_host_pattern("192.0.2.1:443")}};
  const Verdict verdict = judge_host(rules, written, Action::ask);
  if (verdict.action == Action::allow) {
    const auto host = canonical_host(written);
    EXPECT(host.ok());
    EXPECT(host->name.ends_with(".example.com") || (host->name == "192.0.2.1" && host->port == 443));
    EXPECT(host->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-._") == std::string::npos);
    EXPECT(host->name.find("..") == std::string::npos && host->name.front() != '.');
  }
  static const HostRules denied{{*parse_host_pattern("*.example.com"), *parse_host_pattern("192.0.2.1")}, {}, {}};
  const auto plain = canonical_host(written);
  const bool met = plain && (plain->name.ends_with(".example.com") || plain->name == "192.0.2.1");
  EXPECT((judge_host(denied, written, Action::allow).action == Action::allow) == (plain.ok() && !met));
  static_cast<void>(parse_host_pattern(written));
  return 0;
}

const Target registered("host_rules", try_one);

}  // namespace inbox_poller::fuzz::of_host_rules
