// What our scanner makes of each file that is named on standard input, for json_parse.js to compare: one line a file,
// "refused", or the number of entries and, for each, its number of different keys and its `text` as JSON.
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "poller/mailbox/arrays/inbox_document.hpp"

using namespace inbox_poller::schema;
using namespace inbox_poller::poller;

namespace {

std::string told(std::string_view entry) {
  const auto members = scan_object(entry);
  if (!members) return " -";
  std::set<std::string> keys;
  for (const MemberSpan& member : *members) keys.insert(decode_string(member.key.of(entry)).value_or(""));
  const auto text = decode_string(find_member(entry, *members, "text").value_or(""));
  return " " + std::to_string(keys.size()) + " " + (text ? quote(*text) : "-");
}

}  // namespace

int main() {
  for (std::string path; std::getline(std::cin, path);) {
    std::ifstream file(path, std::ios::binary);
    const InboxDocument document = InboxDocument::scan({std::istreambuf_iterator<char>(file), {}}, {"team", "inbox"});
    std::string line = document.problem() ? "refused" : std::to_string(document.entries().size());
    if (!document.problem())
      for (const InboxEntry& entry : document.entries()) line += told(document.entry_bytes(entry));
    std::cout << line << '\n';
  }
}
