// Any bytes as the lead client's settings file: what we put in we take out again to the last byte, putting it in twice
// is putting it in once, and what was there stays there.
#include "schema/hook_settings.hpp"

#include "schema/json_scan.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_hook_settings {

using namespace inbox_poller::schema;

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view before = as_text(data, size);
  static const HookProgram program{"/usr/bin/inbox-poller", {"--team", "demo"}};
  const auto cleared = without_hooks(before);
  const auto with = with_hooks(before, program);
  EXPECT(cleared.ok() || cleared.error().code == "settings.syntax");
  if (!with) {
    EXPECT(with.error().code == "settings.syntax");
    return 0;
  }
  EXPECT(cleared.ok());
  const std::string_view object = std::string_view(*with).substr(with->starts_with("\xEF\xBB\xBF") ? 3 : 0);
  EXPECT(scan_object(object).ok());
  EXPECT(*with_hooks(*with, program) == *with);
  const auto without = without_hooks(*with);
  EXPECT(without.ok());
  if (!without->has_value()) return 0;
  EXPECT(*without_hooks(**without) == **without);
  const bool had_ours = !cleared->has_value() || **cleared != before;
  if (!had_ours) EXPECT(**without == before);
  return 0;
}

const Target registered("hook_settings", try_one);

}  // namespace inbox_poller::fuzz::of_hook_settings
