// The checksum of one row: a flipped bit in a stored reply or request must come out as an error, never as another
// answer. SQLite checks the structure of its pages, not the bytes of the values in them. What it is not: protection
// against somebody who edits the ledger on purpose.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inbox_poller::poller {

/// What a byte adds to a CRC-32 (that of zlib) when so many bytes follow it: with these, eight bytes take one step.
inline constexpr auto crc_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    tables[0][byte] = crc;
  }
  for (std::size_t n = 1; n < 8; ++n)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[n][byte] = (tables[n - 1][byte] >> 8U) ^ tables[0][tables[n - 1][byte] & 0xFFU];
  return tables;
}();

class RowSum {
 public:
  void add(std::string_view bytes) {
    add(static_cast<long long>(bytes.size()));  // so that "ab","c" differs from "a","bc"
    add_bytes(bytes);
  }
  void add(long long number) {
    const std::string digits = std::to_string(number);
    add_bytes({digits.c_str(), digits.size() + 1});
  }
  [[nodiscard]] long long value() const { return static_cast<long long>(~crc_); }

 private:
  void add_bytes(std::string_view bytes) {
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
      std::uint32_t next = 0;
      for (std::size_t i = 0; i < 8; ++i) {
        const std::uint32_t of_crc = i < 4 ? crc_ >> (8 * i) : 0;
        next ^= crc_tables[7 - i][(of_crc ^ static_cast<unsigned char>(bytes[i])) & 0xFFU];
      }
      crc_ = next;
    }
    for (const char byte : bytes)
      crc_ = (crc_ >> 8U) ^ crc_tables[0][(crc_ ^ static_cast<unsigned char>(byte)) & 0xFFU];
  }

  std::uint32_t crc_ = ~std::uint32_t{0};
};

/// CRC-32 over the fields in order.
template <class... T>
long long row_sum(const T&... fields) {
  RowSum sum;
  (sum.add(fields), ...);
  return sum.value();
}

}  // namespace inbox_poller::poller
