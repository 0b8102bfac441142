#include "poller/cli/loop.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "poller/filesystem.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::loop_test {

using inbox_poller::poller::Fd;
using inbox_poller::poller::cli::Descriptor;

TEST_CASE("a descriptor that is waited for stays as it is for whoever else has it") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Fd reading(ends[0]);
  const Fd writing(ends[1]);
  boost::asio::io_context loop;
  int came = 0;
  Descriptor input(loop, reading.get(), Descriptor::Kind::wait_read, [&] { ++came; });
  for (const int round : {1, 2}) {
    input.await();
    CHECK((::fcntl(reading.get(), F_GETFL) & O_NONBLOCK) == 0);
    REQUIRE(::write(writing.get(), "x", 1) == 1);
    loop.restart();
    loop.run();
    CHECK(came == round);
    CHECK((::fcntl(reading.get(), F_GETFL) & O_NONBLOCK) == 0);
    char taken = 0;
    REQUIRE(::read(reading.get(), &taken, 1) == 1);
  }
}

}  // namespace inbox_poller::loop_test
