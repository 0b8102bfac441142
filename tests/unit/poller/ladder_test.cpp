// The delivery ladder: which way is used, of those there are.
#include "poller/delivery/ladder.hpp"

#include "tests/support/catch.hpp"

using namespace inbox_poller;
using namespace inbox_poller::poller;
using config::Rung;

TEST_CASE("the first way that is available is used, in the order in which they stand") {
  CHECK(choose({{Rung::stdin_stream, false, "x"}, {Rung::exec, true, {}}, {Rung::file, true, {}}}) == Rung::exec);
  CHECK(choose({{Rung::file, true, {}}, {Rung::exec, true, {}}}) == Rung::file);
  CHECK(choose({{Rung::tmux, true, {}}}) == Rung::tmux);
}

TEST_CASE("without an available way there is none") {
  CHECK_FALSE(choose({}).has_value());
  CHECK_FALSE(choose({{Rung::hook, false, "no hook"}, {Rung::exec, false, "not set"}}).has_value());
}

TEST_CASE("every way has a name that is read back") {
  for (const auto rung : config::rungs) CHECK(config::parse_rung(config::to_string(rung)) == rung);
  for (const char* text : {"", "Exec", "stdin_stream", "mail"}) CHECK_FALSE(config::parse_rung(text).has_value());
}
