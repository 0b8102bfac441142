// Any two rules and any call: what a told rule covers is met by no restriction that was found disjoint from it.
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/told_rules.hpp"

namespace inbox_poller::fuzz::of_rule_overlap {

using namespace inbox_poller;

int try_one(const std::uint8_t* data, std::size_t size) {
  const auto field = fields(as_text(data, size), 4);  // told, restriction, tool, text
  const auto told = config::parse_permission_rule(field[0]);
  const auto restriction = config::parse_permission_rule(field[1]);
  if (!told || !restriction || config::why_never_allows(*told)) return 0;
  EXPECT(test::keeps_promise(*told, *restriction, field[2], test::input_of(field[2], field[3])));
  EXPECT(config::may_overlap(*told, *told, test::at_work.home));
  return 0;
}

const Target registered("rule_overlap", try_one);

}  // namespace inbox_poller::fuzz::of_rule_overlap
