// Suggestions for mistyped words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::schema {

/// Returns the known word that needs the fewest corrections (a letter added, missing, replaced or swapped; case
/// ignored), or that continues the given one. Empty if none is near: one correction, or a third of the letters.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// Returns the end of a sentence: `; did you mean "demo"?`, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace inbox_poller::schema
