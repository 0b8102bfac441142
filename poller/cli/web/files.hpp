// The page's own files and the libraries of others that it loads, as they were put into the program when it was built.
#pragma once

#include <span>
#include <string_view>

namespace inbox_poller::poller::cli::web {

struct File {
  std::string_view path;  // "/" is the page
  std::string_view type;
  std::string_view text;
};
/// Empty when the page was left out.
std::span<const File> files();
/// Why it was left out; empty when it was not.
std::string_view left_out();

}  // namespace inbox_poller::poller::cli::web
