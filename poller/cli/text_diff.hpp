// Two texts beside each other, as `diff -u` shows them.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::poller::cli {

/// A unified diff with three lines around each change; empty when the texts are the same. For texts of up to some
/// thousand lines: longer changes are shown as one block.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view name);

}  // namespace inbox_poller::poller::cli
