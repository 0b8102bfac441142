// One team in a Redis of this process's own that nobody else has, and what time does there.
#pragma once

#include "poller/broker/redis_box.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/unit/poller/mailbox/maildir/maildir_setting.hpp"

namespace inbox_poller::test {

struct RedisSetting {
  MaildirSetting folder;  // for its loop and clock
  poller::SystemClock clock;
  std::string team = fresh_team();
  poller::RedisCaller direct{shared_redis().address(team), wait_limit()};
  poller::RedisKeys keys{team};

  std::unique_ptr<poller::RedisBox> actor(const std::string& name) {
    auto opened = poller::RedisBox::open(shared_redis().address(team), name, clock, folder.io.get_executor(), wait_limit());
    REQUIRE(opened.ok());
    return *std::move(opened);
  }
  /// As if all offers were as old as that.
  void age_offers(const std::string& actor) {
    const auto pending = direct.call(poller::RedisCommand{"XPENDING", keys.stream(actor, "box"), "g", "-", "+", "100"});
    REQUIRE(pending.ok());
    for (const poller::RedisReply& one : pending->parts)
      REQUIRE(direct.call(poller::RedisCommand{"XCLAIM", keys.stream(actor, "box"), "g", actor, "0", one.at(0).text, "TIME", "0", "JUSTID"}).ok());
  }
  /// As if the leases of all claims were over.
  void age_claims() {
    const auto names = direct.call(poller::RedisCommand{"ZRANGE", keys.of("leases"), "0", "-1"});
    REQUIRE(names.ok());
    for (const poller::RedisReply& one : names->parts)
      REQUIRE(direct.call(poller::RedisCommand{"ZADD", keys.of("leases"), "1", one.text}).ok());
  }
};

}  // namespace inbox_poller::test
