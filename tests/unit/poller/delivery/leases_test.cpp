// Who has which message that is not acknowledged.
#include "poller/delivery/leases.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::poller {
namespace {

LeasedMessage message(long long id) {
  LeasedMessage one;
  one.id = id;
  one.key = {"k" + std::to_string(id)};
  one.from = "w" + std::to_string(id);
  return one;
}

std::vector<long long> ids_of(const std::vector<LeasedMessage>& messages) {
  std::vector<long long> ids;
  for (const auto& one : messages) ids.push_back(one.id);
  return ids;
}

using Ids = std::vector<long long>;
using Keys = std::vector<std::string>;
const SteadyTime start{};
const auto later = start + std::chrono::seconds(1);

}  // namespace

TEST_CASE("what is lent is known by id and by key until it ends") {
  Leases leases;
  leases.grant({message(1), message(2)}, "socket", {});
  REQUIRE(leases.find("k1") != nullptr);
  CHECK((leases.find("k1")->id == 1 && leases.find("k1")->from == "w1" && leases.find("k1")->method == "socket"));
  leases.end({1, 7});
  CHECK_FALSE(leases.has(1));
  CHECK(leases.find("k1") == nullptr);
  CHECK(leases.has(2));
}

TEST_CASE("what has a moment comes back at it, and what has a holder does not") {
  Leases leases;
  leases.grant({message(1)}, "recv", later);
  leases.grant({message(2)}, "socket", {});
  CHECK(leases.due(start).empty());
  CHECK(leases.due(later) == Ids{1});
  CHECK(leases.set_end(2, start));
  CHECK(leases.due(start) == Ids{2});
  CHECK_FALSE(leases.set_end(3, start));
}

TEST_CASE("a holder that leaves gives back what it has, and not what another has since") {
  Leases leases;
  const auto first = leases.enter(), second = leases.enter();
  leases.grant({message(1), message(2), message(3)}, "socket", {});
  leases.hold(first, {message(1), message(2), message(3)});
  leases.end({1});  // acknowledged
  leases.grant({message(2)}, "socket", {});
  leases.hold(second, {message(2)});
  CHECK(ids_of(leases.leave(first)) == Ids{3});
  CHECK(ids_of(leases.leave(second)) == Ids{2});
  CHECK(leases.leave(99).empty());
}

TEST_CASE("a word for one message is one for all that its holder was shown before it, also after it has left") {
  Leases leases;
  const auto first = leases.enter(), second = leases.enter();
  leases.grant({message(1), message(2), message(3), message(4)}, "socket", {});
  leases.hold(first, {message(1), message(3)});
  leases.hold(second, {message(2), message(4)});
  CHECK(leases.taken_by_holder("k3") == Keys{"k1", "k3"});
  CHECK(leases.taken_by_holder("k4") == Keys{"k2", "k4"});
  CHECK(leases.taken_by_holder("k9") == Keys{"k9"});
  static_cast<void>(leases.leave(first));
  CHECK(leases.taken_by_holder("k3") == Keys{"k1", "k3"});
  for (int i = 0; i < 40; ++i) static_cast<void>(leases.leave(leases.enter()));
  CHECK(leases.taken_by_holder("k3") == Keys{"k3"});  // not for ever
  CHECK(leases.taken_by_holder("k4") == Keys{"k2", "k4"});
}

TEST_CASE("a word for one message leaves out what was acknowledged before, until it is shown again") {
  Leases leases;
  const auto holder = leases.enter();
  leases.grant({message(1), message(2), message(3), message(4)}, "socket", {});
  leases.hold(holder, {message(1), message(2), message(3), message(4)});
  leases.end({3}, {3, 1});
  CHECK(leases.has(1));
  CHECK_FALSE(leases.has(3));
  CHECK(leases.taken_by_holder("k4") == Keys{"k2", "k4"});
  CHECK(leases.taken_by_holder("k3") == Keys{"k2", "k3"});  // nothing that was shown later
  leases.hold(holder, {message(1), message(5)});
  CHECK(leases.taken_by_holder("k5") == Keys{"k2", "k4", "k1", "k5"});
}

TEST_CASE("by method it is one for all that went that way before it, in the order of lending and not of ids") {
  Leases leases;
  leases.grant({message(5)}, "mcp", {});
  leases.grant({message(1)}, "mcp", {});
  leases.grant({message(2)}, "recv", {});
  CHECK(leases.taken_by_method("mcp", "k1") == Keys{"k5", "k1"});
  CHECK(leases.taken_by_method("mcp", "k5") == Keys{"k5"});
  CHECK(leases.taken_by_method("mcp", "k9") == Keys{"k9"});
}

}  // namespace inbox_poller::poller
