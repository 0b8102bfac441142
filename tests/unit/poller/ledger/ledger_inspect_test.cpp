// A ledger looked at from outside: beside its owner, closed, damaged, foreign; never changed.
#include "poller/ledger/inspect.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "poller/ledger/ledger.hpp"
#include "poller/ledger/tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::ledger_inspect_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(folder)) names.push_back(file.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a closed ledger is inspected without leaving a trace") {
  const ScratchDir scratch;
  const std::string path = scratch.path("ledger.sqlite3").string();
  REQUIRE(Ledger::open(path));
  const auto before = names_in(scratch.path());
  const std::string bytes = slurp(path);
  const auto report = inspect_ledger(path);
  REQUIRE(report);
  CHECK(report->exists);
  CHECK(report->finding == "ok");
  CHECK(report->format >= 1);
  CHECK(names_in(scratch.path()) == before);
  CHECK(slurp(path) == bytes);
}

TEST_CASE("a ledger in use is inspected beside its owner, who goes on") {
  const ScratchDir scratch;
  const std::string path = scratch.path("ledger with ?#% in its name").string();
  auto ledger = Ledger::open(path);
  REQUIRE(ledger);
  REQUIRE((*ledger)->next_batch());
  const auto report = inspect_ledger(path);
  REQUIRE(report);
  CHECK(report->finding == "ok");
  CHECK((*ledger)->next_batch());
}

TEST_CASE("inspect names the format of an older ledger and renames nothing") {
  const ScratchDir scratch;
  const std::string path = scratch.path("ledger.sqlite3").string();
  REQUIRE(Ledger::open(path));
  std::string bytes = slurp(path);
  bytes[63] = 1;  // user_version, big-endian in bytes 60 to 63
  spill(path, bytes);
  const auto before = names_in(scratch.path());
  const auto report = inspect_ledger(path);
  REQUIRE_FALSE(report);
  CHECK(report.error().code == "ledger.older");
  CHECK(report.error().message == path + ": has format 1, and this inbox-poller uses format " +
                                      std::to_string(ledger_format) +
                                      "; the daemon sets it aside at its next start and begins a new ledger");
  CHECK(names_in(scratch.path()) == before);
  CHECK(slurp(path) == bytes);
}

TEST_CASE("no ledger is no fault") {
  const ScratchDir scratch;
  const auto report = inspect_ledger(scratch.path("ledger.sqlite3").string());
  REQUIRE(report);
  CHECK_FALSE(report->exists);
  CHECK(names_in(scratch.path()).empty());
}

TEST_CASE("a ledger that is damaged, foreign, open to others or empty is told as such") {
  const ScratchDir scratch;
  const std::string path = scratch.path("ledger.sqlite3").string();
  REQUIRE(Ledger::open(path));
  std::string bytes = slurp(path);
  SECTION("its pages") {
    std::fill(bytes.begin() + 4096, bytes.begin() + 8192, '\x5a');
    spill(path, bytes);
    const auto report = inspect_ledger(path);
    CHECK((!report || report->finding != "ok"));
  }
  SECTION("another program's") {
    bytes[68] = 'X';  // application_id
    spill(path, bytes);
    CHECK(inspect_ledger(path).error().code == "ledger.foreign");
  }
  SECTION("of a newer format") {
    bytes[62] = 9;  // user_version, big-endian in bytes 60 to 63
    spill(path, bytes);
    CHECK(inspect_ledger(path).error().code == "ledger.newer");
  }
  SECTION("open to others") {
    ::chmod(path.c_str(), 0666);
    CHECK(inspect_ledger(path).error().code == "ledger.unsafe");
  }
  SECTION("cut off") {
    spill(path, "");
    CHECK(inspect_ledger(path).error().code == "ledger.damaged");
  }
}

}  // namespace inbox_poller::ledger_inspect_test
