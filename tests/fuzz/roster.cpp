// Any bytes as a team's config.json: names that may become file names and nothing else, and taking a member out leaves
// every other byte alone.
#include "schema/roster.hpp"

#include "schema/ids.hpp"
#include "schema/json_scan.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_roster {

using namespace inbox_poller::schema;

namespace {

/// The members' bytes, those called `name` left out.
std::vector<std::string> others(std::string_view bytes, std::string_view name) {
  const std::string_view list = find_member(bytes, "members").value_or("[]");
  std::vector<std::string> found;
  for (const Span& element : scan_array(list).elements) {
    const std::string_view member = element.of(list);
    if (decode_string(find_member(member, "name").value_or("")) != name) found.emplace_back(member);
  }
  return found;
}

void check_removal(std::string_view before, const Roster& roster, std::string_view name) {
  const auto after = without_member(before, name);
  EXPECT(after.ok());
  const auto rest = decode_roster(*after);
  EXPECT(rest.ok() && rest->find(name) == nullptr);
  EXPECT(others(*after, name) == others(before, name));
  EXPECT(*without_member(*after, name) == *after);
  EXPECT(rest->lead_name() == roster.lead_name() && rest->name == roster.name);
  if (roster.find(name) == nullptr) return;
  // All that changed lies inside the list of members.
  const std::string_view list = *find_member(before, "members");
  const auto begin = static_cast<std::size_t>(list.data() - before.data());
  EXPECT(after->starts_with(before.substr(0, begin)) && after->ends_with(before.substr(begin + list.size())));
  EXPECT(after->size() < before.size());
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = as_text(data, size);
  const auto roster = decode_roster(bytes);
  if (!roster) {
    EXPECT(roster.error().code.starts_with("roster."));
    static_cast<void>(without_member(bytes, "ann"));
    return 0;
  }
  EXPECT(is_valid_name(roster->lead_name()));
  EXPECT(!roster->lead_process || roster->lead_process->pid > 0);
  for (const Member& member : roster->members) {
    EXPECT(is_valid_name(member.name) || is_inbox_name(inbox_name(member.name)));
    EXPECT(member.name.find_first_of("@\n") == std::string::npos);
    EXPECT(roster->find(member.name) != nullptr && roster->find(member.name)->name == member.name);
    check_removal(bytes, *roster, member.name);
  }
  check_removal(bytes, *roster, "nobody-of-this-name");
  return 0;
}

const Target registered("roster", try_one);

}  // namespace inbox_poller::fuzz::of_roster
