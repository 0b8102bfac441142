#include "rule_table.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::config::hosts_test {
namespace {

TEST_CASE("every row of the host table is decided as it says") {
  const auto rows = rules_test::read_table("hosts.txt", 3);
  CHECK(rows.size() >= 60);
  for (const rules_test::Row& row : rows) {
    HostRules rules;
    const Action default_action = rules_test::read_rules(row.columns[1], rules, parse_host_pattern);
    const Verdict verdict = judge_host(rules, row.columns[2], default_action);
    INFO("line " << row.line << ": " << row.text << "\n  " << verdict.rule << ": " << verdict.reason);
    CHECK(std::string(to_string(verdict.action)) == row.columns[0]);
    CHECK_FALSE(verdict.reason.empty());
  }
}

TEST_CASE("a host has one spelling") {
  const auto name = [](const char* written) { return canonical_host(written)->name; };
  CHECK(name("GitHub.COM.") == "github.com");
  CHECK(name("[2001:0DB8:0:0::1]") == "2001:db8::1");
  CHECK(name("[::ffff:10.0.0.1]") == "10.0.0.1");
  CHECK(canonical_host("github.com:8443")->port == 8443);
  CHECK(canonical_host("10.0.0.1")->is_ip);
  CHECK_FALSE(canonical_host("10.0.0.1.example")->is_ip);
}

TEST_CASE("a refusal says why, and shows no control characters") {
  const auto why = [](std::string_view written) { return canonical_host(written).error().message; };
  CHECK(why("") == "\"\" is not a plain host: it is empty");
  CHECK(why("*.x.com") == "\"*.x.com\" is not a plain host: it is a pattern, and only one host can be asked for");
  CHECK(why("b\xC3\xBC"
            "cher.de") ==
        "\"b??cher.de\" is not a plain host: it has non-ASCII characters; an international name must come in its xn-- "
        "form");
  CHECK(why("a@b") == "\"a@b\" is not a plain host: '@' does not belong in a host name");
  CHECK(why("a\x1b[2Jb") == "\"a?[2Jb\" is not a plain host: it has white space or control characters");
  CHECK(why("127.1") == "\"127.1\" is not a plain host: an IPv4 address needs four decimal numbers");
  CHECK(why(std::string(300, 'a')).size() < 200);
}

TEST_CASE("texts that are no host patterns are refused with the reason") {
  const std::pair<const char*, const char*> rows[] = {
      {"", "it is empty"},
      {"a*.com", "a '*' may only stand alone or in front"},
      {"*.*.com", "a '*' may only stand alone or in front"},
      {"https://x.com", "it is a URL"},
      {"::1", "IPv6 stands without brackets"},
      {"::1:443", "IPv6 stands without brackets"},
      {"*.127.0.0.1", "an IP address cannot have subdomains"},
      {"*:0", "what follows the host is not a port"},
      {"x.com:99999", "what follows the host is not a port"},
      {"x y", "it has white space or control characters"},
      {"127.1", "an IPv4 address needs four decimal numbers"},
  };
  for (const auto& [text, reason] : rows) {
    const auto pattern = parse_host_pattern(text);
    INFO(text);
    REQUIRE_FALSE(pattern.ok());
    CHECK(pattern.error().message.find(reason) != std::string::npos);
  }
}

}  // namespace
}  // namespace inbox_poller::config::hosts_test
