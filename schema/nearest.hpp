// What somebody who mistyped a word may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::schema {

/// The word among these that takes the fewest slips to become this one (a letter too many, too few, another one, two
/// swapped; case is no matter), or that goes on behind it; empty when none is near: a third of its letters at most.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// The same as the end of a sentence: `; did you mean "demo"?`, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace inbox_poller::schema
