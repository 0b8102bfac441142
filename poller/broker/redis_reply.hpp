// Codec of the Redis protocol, on hiredis. Redis is not trusted, so the size, depth and number of parts of a reply are
// bounded.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

/// One value of a reply; lists contain further values.
struct RedisReply {
  enum class Kind { nothing, integer, text, status, error, list };
  Kind kind = Kind::nothing;
  long long number = 0;  // integer
  std::string text;      // text, status, error
  std::vector<RedisReply> parts;

  [[nodiscard]] bool is_nothing() const { return kind == Kind::nothing; }
  /// Returns a part, or an empty reply if there are fewer parts.
  [[nodiscard]] const RedisReply& at(std::size_t index) const;
  /// Returns an integer, also one in decimal text; 0 for anything else.
  [[nodiscard]] long long as_number() const;
};

using RedisCommand = std::vector<std::string>;

/// Encodes a command in the Redis protocol; empty in a build without Redis.
std::string encode(const RedisCommand&);

/// Incremental parser of replies. Unusable after the first error.
class RedisReader {
 public:
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;
  static constexpr std::size_t most_parts = 200'000;
  static constexpr const char* too_much = "what answers there does not speak as Redis does, or answers with too much";

  /// `most`: limit of one reply, in bytes.
  explicit RedisReader(std::size_t most = most_bytes);
  ~RedisReader();
  RedisReader(const RedisReader&) = delete;
  RedisReader& operator=(const RedisReader&) = delete;

  /// Appends bytes as they were read from the connection.
  void feed(std::string_view bytes);
  /// Returns the next complete reply, or empty if more bytes are needed. Errors: "redis.fault" for malformed or too
  /// large replies, and for every later call.
  Result<std::optional<RedisReply>> next();

 private:
  struct State;
  const std::size_t most_;
  std::unique_ptr<State> state_;
};

}  // namespace inbox_poller::poller
