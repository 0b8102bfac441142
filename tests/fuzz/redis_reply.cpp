// Any bytes from what should be a Redis, in any pieces: what is read is bounded, and the same whatever the pieces; what
// is no reply stays none. And what INFO may say.

#include "poller/broker/broker_facts.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_redis_reply {

using namespace inbox_poller;
using namespace inbox_poller::poller;

namespace {

std::size_t parts_of(const RedisReply& reply, int depth = 0) {
  EXPECT(depth < 64);
  std::size_t count = reply.parts.size();
  EXPECT(reply.parts.empty() || reply.kind == RedisReply::Kind::list);
  for (const RedisReply& one : reply.parts) count += parts_of(one, depth + 1);
  EXPECT(reply.at(reply.parts.size()).is_nothing());
  (void)reply.as_number();
  return count;
}

std::string shape(const RedisReply& reply) {
  std::string text = std::to_string(static_cast<int>(reply.kind)) + ':' + std::to_string(reply.number) + ':' + reply.text + '(';
  for (const RedisReply& one : reply.parts) text += shape(one);
  return text + ')';
}

/// All replies, and "!" where it is none.
std::string read(std::string_view bytes, std::size_t piece) {
  RedisReader reader;
  std::string all;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(bytes.substr(at, piece));
    for (;;) {
      const auto next = reader.next();
      if (!next) {
        EXPECT(next.error().code == "redis.fault");
        reader.feed("+OK\r\n");
        EXPECT(!reader.next().ok());
        return all + '!';
      }
      if (!next->has_value()) break;
      EXPECT(parts_of(**next) <= RedisReader::most_parts);
      all += shape(**next);
      if ((*next)->kind == RedisReply::Kind::error) EXPECT(error_of(**next).code.starts_with("redis."));
    }
  }
  return all;
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = as_text(data, size);
  EXPECT(read(bytes, bytes.size() + 1) == read(bytes, 1));
  const BrokerFacts facts = BrokerFacts::read(bytes);
  for (const bool meant : {false, true})
    if (const Status usable = facts.usable(meant); !usable.ok()) EXPECT(!usable.error().message.empty());
  (void)facts.worries();
  return 0;
}

const Target registered("redis_reply", try_one);

}  // namespace inbox_poller::fuzz::of_redis_reply
