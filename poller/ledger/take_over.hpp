// A ledger of an earlier format becomes one of today's: all of it in one transaction, and a copy of what it was is kept
// beside it.
#pragma once

#include <string>

#include "poller/ledger/sqlite.hpp"

namespace inbox_poller::poller {

/// The path of the copy. A row whose sum does not fit is taken along as a row whose sum does not fit. After an error the
/// ledger is what it was.
Result<std::string> take_over(Database& database, int from);

/// The tables of an earlier format, in an empty database.
Status make_old_tables(Database& database, int format);

}  // namespace inbox_poller::poller
