#include "poller/delivery/sinks.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/scratch.hpp"

using namespace inbox_poller;
using namespace inbox_poller::poller;

TEST_CASE("chat in a file counts as delivered once the file and its name are on the disk") {
  const test::ScratchDir scratch;
  PosixFileSystem real;
  test::FaultyFileSystem files(real);
  const auto path = scratch.path("for-the-lead.jsonl").string();
  LeasedMessage message;
  message.text = "good morning";
  for (const auto call : {test::Call::append, test::Call::sync, test::Call::sync_dir}) {
    files.set({call, 1, EIO, true});
    CHECK_FALSE(deliver_file(files, path, {message}));
  }
  files.set({test::Call::lock});
  CHECK(deliver_file(files, path, {message}));
}
