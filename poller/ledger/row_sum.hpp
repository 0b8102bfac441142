// The checksum of one row: a flipped bit in a stored reply or request must come out as an error, never as another
// answer. SQLite checks the structure of its pages, not the bytes of the values in them. What it is not: protection
// against somebody who edits the ledger on purpose.
#pragma once

#include <boost/crc.hpp>
#include <string>
#include <string_view>

namespace inbox_poller::poller {

class RowSum {
 public:
  void add(std::string_view bytes) {
    add(static_cast<long long>(bytes.size()));  // so that "ab","c" differs from "a","bc"
    crc_.process_bytes(bytes.data(), bytes.size());
  }
  void add(long long number) { add_digits(std::to_string(number)); }
  [[nodiscard]] long long value() const { return static_cast<long long>(crc_.checksum()); }

 private:
  void add_digits(const std::string& digits) { crc_.process_bytes(digits.c_str(), digits.size() + 1); }
  boost::crc_32_type crc_;
};

/// CRC-32 over the fields in order.
template <class... T>
long long row_sum(const T&... fields) {
  RowSum sum;
  (sum.add(fields), ...);
  return sum.value();
}

}  // namespace inbox_poller::poller
