// What Redis says, out of bytes: hiredis as a codec and nothing else. The engine is not trusted: how large a reply may
// be, how deep and of how many parts, is bounded here.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

struct RedisReply {
  enum class Kind { nothing, integer, text, status, error, list };
  Kind kind = Kind::nothing;
  long long number = 0;  // integer
  std::string text;      // text, status, error
  std::vector<RedisReply> parts;

  [[nodiscard]] bool is_nothing() const { return kind == Kind::nothing; }
  /// The part, or one that is nothing.
  [[nodiscard]] const RedisReply& at(std::size_t index) const;
  /// An integer, or a text that is one; 0 for anything else.
  [[nodiscard]] long long as_number() const;
};

using RedisCommand = std::vector<std::string>;

/// A command's bytes.
std::string encode(const RedisCommand&);

class RedisReader {
 public:
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;  // of one reply
  static constexpr std::size_t most_parts = 200'000;
  static constexpr const char* too_much = "what answers there does not speak as Redis does, or answers with too much";

  RedisReader();
  ~RedisReader();
  RedisReader(const RedisReader&) = delete;
  RedisReader& operator=(const RedisReader&) = delete;

  void feed(std::string_view bytes);
  /// The next whole reply; nothing when more bytes are needed. "exchange.fault" when this is no reply, or too large a
  /// one; from then on always.
  Result<std::optional<RedisReply>> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace inbox_poller::poller
