// The sum over a row: XXH3, 64 bits, each value with its length. It finds accidental changes, so that a damaged row is
// an error and never another decision. SQLite checks only the structure of its pages. The sum does not protect against
// a person who edits the ledger on purpose.
#pragma once

#include <cstdint>
#include <string_view>

namespace inbox_poller::poller {

class RowHash {
 public:
  void add(std::string_view bytes);
  void add(long long number);
  /// Returns the sum as the tables have it, with a sign, because SQLite's integers are signed.
  [[nodiscard]] long long value() const { return static_cast<long long>(hash_); }

 private:
  std::uint64_t hash_ = 0;
};

}  // namespace inbox_poller::poller
