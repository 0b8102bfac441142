// The sum over a row: XXH3, 64 bits, each value with its length. It finds what a failing disk or a stray hand changed, so
// that a damaged row is an error and never another answer; SQLite checks the structure of its pages, not the bytes of
// the values in them. What it is not: protection against somebody who edits the ledger on purpose.
#pragma once

#include <cstdint>
#include <string_view>

namespace inbox_poller::poller {

class RowHash {
 public:
  void add(std::string_view bytes);
  void add(long long number);
  /// As the tables have it: SQLite's integers have a sign.
  [[nodiscard]] long long value() const { return static_cast<long long>(hash_); }

 private:
  std::uint64_t hash_ = 0;
};

}  // namespace inbox_poller::poller
