// The codec: what is read, in whatever pieces it comes, and what is too much.
#include "poller/broker/redis_connection.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::redis_reply_test {

using namespace inbox_poller::poller;

namespace {

bool has_redis() { return !encode({"PING"}).empty(); }

}  // namespace

TEST_CASE("A reply is read whatever pieces it comes in, and what follows it is the next") {
  if (!has_redis()) return;
  const std::string bytes = "*4\r\n:7\r\n$5\r\na\r\nbc\r\n*2\r\n+OK\r\n-ERR no\r\n$-1\r\n:12\r\n";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    RedisReader reader;
    std::vector<RedisReply> replies;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      for (;;) {
        auto next = reader.next();
        REQUIRE(next.ok());
        if (!next->has_value()) break;
        replies.push_back(**std::move(next));
      }
    }
    REQUIRE(replies.size() == 2);
    CHECK(replies[0].at(0).as_number() == 7);
    CHECK(replies[0].at(1).text == "a\r\nbc");
    CHECK(replies[0].at(2).at(0).kind == RedisReply::Kind::status);
    CHECK(replies[0].at(2).at(1).kind == RedisReply::Kind::error);
    CHECK(replies[0].at(3).is_nothing());
    CHECK(replies[0].at(4).is_nothing());
    CHECK(replies[1].as_number() == 12);
  }
}

TEST_CASE("What is no reply, or one of too many parts, is a fault from then on") {
  if (!has_redis()) return;
  for (const char* text : {"?what\r\n", "*300000\r\n", "*2\r\n*150000\r\n", "*2147483647\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}) {
    RedisReader reader;
    reader.feed(text);
    auto next = reader.next();
    if (next.ok() && !next->has_value()) {  // of the second, what stands in front is fine
      for (int i = 0; i < 150'000; ++i) reader.feed(":1\r\n");
      reader.feed("*150000\r\n");
      next = reader.next();
    }
    CAPTURE(text);
    REQUIRE_FALSE(next.ok());
    CHECK(next.error().code == "redis.fault");
    reader.feed("+OK\r\n");
    CHECK_FALSE(reader.next().ok());
  }
}

TEST_CASE("A command's words keep their bytes") {
  if (!has_redis()) return;
  CHECK(encode({"SET", std::string("a\0b\r\n", 5), ""}) == std::string("*3\r\n$3\r\nSET\r\n$5\r\na\0b\r\n\r\n$0\r\n\r\n", 30));
}

TEST_CASE("An engine that would lose what it confirms is not used, unless that is meant") {
  const std::string good = "redis_version:7.0.15\r\nrole:master\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n";
  CHECK(BrokerFacts::read(good).usable(false).ok());
  CHECK(BrokerFacts::read(good).worries().empty());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string info = good;
    return BrokerFacts::read(info.replace(info.find(from), from.size(), to));
  };
  const BrokerFacts forgets = with("aof_enabled:1", "aof_enabled:0");
  CHECK(forgets.usable(false).error().code == "redis.unfit");
  CHECK(forgets.usable(false).error().message.find("appendonly yes") != std::string::npos);
  CHECK(forgets.usable(true).ok());
  CHECK(forgets.worries().size() == 1);
  CHECK(with("noeviction", "allkeys-lru").usable(false).error().code == "redis.unfit");
  CHECK(with("noeviction", "allkeys-lru").usable(true).ok());
  CHECK(with("7.0.15", "6.2.7").usable(true).error().code == "redis.unfit");
  CHECK(with("master", "slave").usable(true).error().code == "redis.down");
  BrokerFacts starts = forgets;
  starts.is_loading = true;
  CHECK(starts.usable(false).error().code == "redis.down");
  BrokerFacts late = BrokerFacts::read(good);
  late.log_is_synced = "everysec";
  CHECK(late.usable(false).ok());
  CHECK(late.worries().front().find("everysec") != std::string::npos);
}

TEST_CASE("What Redis says when it refuses is told apart") {
  const auto code = [](const char* text) { return error_of({RedisReply::Kind::error, 0, text, {}}).code; };
  CHECK(code("NOAUTH Authentication required.") == "redis.denied");
  CHECK(code("WRONGPASS invalid username-password pair") == "redis.denied");
  CHECK(code("NOPERM this user has no permissions") == "redis.denied");
  CHECK(code("OOM command not allowed when used memory > 'maxmemory'.") == "redis.full");
  CHECK(code("MISCONF Errors writing to the AOF file") == "redis.full");
  CHECK(code("LOADING Redis is loading the dataset in memory") == "redis.down");
  CHECK(code("READONLY You can't write against a read only replica.") == "redis.down");
  CHECK(code("WRONGTYPE Operation against a key") == "redis.fault");
}

}  // namespace inbox_poller::redis_reply_test
