// Compares the models of clients with a recorded exchange of a real one: the same steps, and the same bytes up to ids and
// times. tests/clients/test_exchange.py records them.
#pragma once

#include <string>

namespace inbox_poller::sim {

/// Plays the accesses of a recording with the model of its version, which the file's name is. Prints each difference.
/// Returns 0, or 1 if there is one.
int compare_exchange(const std::string& path);

}  // namespace inbox_poller::sim
