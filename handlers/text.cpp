#include "handlers/text.hpp"

#include "schema/json_scan.hpp"

namespace inbox_poller::handlers {

std::string_view beginning(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return text.substr(0, limit);
}

std::string one_line(std::string_view text, std::size_t limit) {
  std::string line(beginning(text, limit));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7F') c = ' ';
  if (line.size() < text.size()) line += "…";
  return line;
}

std::string shown(std::string_view text) { return schema::quote(one_line(text, 64)); }

}  // namespace inbox_poller::handlers
