#include "handlers/text.hpp"

#include "schema/json_scan.hpp"

namespace inbox_poller::handlers {

std::string one_line(std::string_view text, std::size_t limit) {
  std::size_t end = text.size();
  if (end > limit) {
    end = limit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  }
  std::string line(text.substr(0, end));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7F') c = ' ';
  }
  if (end < text.size()) line += "…";
  return line;
}

std::string shown(std::string_view text) { return schema::quote(one_line(text, 64)); }

}  // namespace inbox_poller::handlers
