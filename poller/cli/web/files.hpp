// The page's files and the libraries that it loads, embedded in the program at build time.
#pragma once

#include <span>
#include <string_view>

namespace inbox_poller::poller::cli::web {

struct File {
  std::string_view path;  // "/" is the page
  std::string_view type;
  std::string_view text;
};
/// Lists the files; empty when the build left the page out.
std::span<const File> files();
/// Explains why the page was left out; empty when it was not.
std::string_view left_out();

}  // namespace inbox_poller::poller::cli::web
