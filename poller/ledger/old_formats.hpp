// The tables as earlier programs made them: entry N took a file from `PRAGMA user_version` N to N + 1. For taking such a
// ledger over (take_over.cpp), and for the tests that make one; never edited. Here `sum` is a CRC-32 (row_sum.hpp).
#pragma once

#include <array>

namespace inbox_poller::poller {

inline constexpr std::array<const char*, 4> old_formats = {
#include "poller/ledger/old_formats.sql"
};

}  // namespace inbox_poller::poller
