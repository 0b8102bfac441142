// What somebody who mistyped a word may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::poller::cli {

/// The word among these that takes the fewest slips to become this one (a letter too many, too few, another one, two
/// swapped), or that goes on behind it; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace inbox_poller::poller::cli
