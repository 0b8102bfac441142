// What the host of a lead owes the daemon; the whole of it is tested with processes
// (tests/integration/test_lead_run.py).
#include "poller/cli/lead_run/daemon_link.hpp"
#include "tests/support/catch.hpp"

using inbox_poller::poller::cli::DaemonLink;

TEST_CASE("without a daemon a state is not worth waiting for, what the lead took is") {
  std::vector<std::string> told;
  DaemonLink link("/nowhere/control.sock", "", [&told](const std::string& line) { told.push_back(line); });
  CHECK(link.settled());
  link.report("stream_closes", "s-1");
  link.step(true);
  CHECK(link.settled());
  link.acknowledge({"key"}, false);
  link.step(true);
  CHECK_FALSE(link.settled());
  CHECK(told.empty());  // a daemon that restarts is no news
}
