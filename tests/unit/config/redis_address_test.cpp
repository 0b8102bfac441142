// An engine's address: what is understood, what is refused, and that no password is ever repeated.
#include "config/redis_address.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::engine_address_test {

using namespace inbox_poller::config;

TEST_CASE("An engine is named by a socket, a host or a host with TLS, and its team behind a #") {
  const auto local = parse_redis_address("redis+unix:///run/redis/team.sock#demo");
  REQUIRE(local.ok());
  CHECK(local->scheme == RedisAddress::Scheme::unix_socket);
  CHECK(local->path == "/run/redis/team.sock");
  CHECK(local->team == "demo");
  CHECK(local->shown() == "redis+unix:///run/redis/team.sock#demo");

  const auto far = parse_redis_address("rediss://r.example?user=node-h2&secret=/etc/s&ca=/etc/ca.pem#demo");
  REQUIRE(far.ok());
  CHECK(far->scheme == RedisAddress::Scheme::tls);
  CHECK(far->host == "r.example");
  CHECK(far->port == 6379);
  CHECK(far->user == "node-h2");
  CHECK(far->secret == "/etc/s");
  CHECK(far->ca == "/etc/ca.pem");
  CHECK_FALSE(far->not_durable_is_meant);
  CHECK(far->shown() == "rediss://r.example:6379#demo");

  const auto six = parse_redis_address("redis://[::1]:7000/?accept_risks=redis-not-durable");
  REQUIRE(six.ok());
  CHECK(six->host == "::1");
  CHECK(six->port == 7000);
  CHECK(six->team.empty());
  CHECK(six->not_durable_is_meant);
  CHECK(six->shown() == "redis://[::1]:7000");
}

TEST_CASE("What is no engine's address is refused in words, and a password in it is not repeated") {
  for (const char* text :
       {"redis://user:hunter2@host:1#t", "redis://:hunter2@host#t", "redis://host?password=hunter2#t",
        "redis+unix:///s?auth=hunter2", "redis://host/hunter2", "redis://?secret=hunter2", "redis://host:hunter2"}) {
    const auto address = parse_redis_address(text);
    CAPTURE(text);
    REQUIRE_FALSE(address.ok());
    CHECK(address.error().code == "redis.address");
    CHECK(address.error().message.find("hunter2") == std::string::npos);
  }
  for (const char* text : {"redis+unix://relative#t", "redis://", "redis://:6379", "redis://h:0", "redis://h:70000",
                           "redis://h:6379x", "redis://[::1", "redis://h#a b", "redis://h#", "redis://h# t", "http://h",
                           "redis:h", "redis://h?user=a%20b", "redis://h?secret=s", "redis://h?accept_risks=all", "redis://h/1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_redis_address(text).ok());
  }
  CHECK_FALSE(is_engine_address("/home/x/redis"));
  CHECK_FALSE(is_engine_address("redis"));
  CHECK(is_engine_address("redis:whatever"));
}

}  // namespace inbox_poller::engine_address_test
