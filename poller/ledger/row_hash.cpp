#include "poller/ledger/row_hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

namespace inbox_poller::poller {

// The sum so far is the seed. XXH3 mixes the length in, so "ab","c" differs from "a","bc".
void RowHash::add(std::string_view bytes) { hash_ = XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash_); }

void RowHash::add(long long number) {
  std::array<char, 8> bytes{};  // the same on every machine
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes.at(i) = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
  add(std::string_view(bytes.data(), bytes.size()));
}

}  // namespace inbox_poller::poller
