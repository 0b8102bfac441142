// Whose a box is, by its name, and where what others write to each other is recorded.
#include "handlers/whose_box.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::handlers::whose_box_test {

TEST_CASE("a box is the lead's, an alias of it, somebody's or nobody's, in this order") {
  config::TeamConfig config;
  config.team.aliases = {"leader", "ada"};
  config.delivery.allowed_senders = {"ci"};
  const auto whose = [&](std::string_view box, bool is_known = false) {
    return whose_box(box, "team-lead", config, is_known);
  };
  CHECK(whose("team-lead") == BoxOf::lead);
  CHECK(whose("team-lead", true) == BoxOf::lead);
  CHECK(whose("leader") == BoxOf::alias);
  CHECK(whose("ada", true) == BoxOf::alias);
  CHECK(whose("bob", true) == BoxOf::somebody);
  CHECK(whose("ci") == BoxOf::somebody);
  CHECK(whose("bpb") == BoxOf::nobody);
}

TEST_CASE("all mail is recorded only by an observer, and only where agents ask for nothing") {
  config::BackendFacts asks, shares;
  asks.asks = true;
  shares.asks = false;
  CHECK(watches_all({EffectiveRole::observer, {}}, shares));
  CHECK_FALSE(watches_all({EffectiveRole::observer, {}}, asks));
  CHECK_FALSE(watches_all({EffectiveRole::leader, {}}, shares));
}

}  // namespace inbox_poller::handlers::whose_box_test
