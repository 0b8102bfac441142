// How long locks are held, and what a poll of a large inbox costs: the figures that docs/ quotes come from here.
// Not a test: it judges nothing. Build with -O2 on a quiet machine; the first argument is the folder to work in (its
// file system is what is measured; default: the system's folder for temporary files).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "poller/mailbox/arrays/array_inboxes.hpp"
#include "tests/support/mailbox_setting.hpp"

using namespace inbox_poller;
using namespace inbox_poller::poller;
namespace fs = std::filesystem;

namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

struct Sample {
  double median;
  double p99;
};

Sample summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() * 99 / 100]};
}

/// An inbox of about this many bytes, with entries of ordinary size.
std::string inbox_of_size(std::size_t bytes, std::size_t at_least_entries) {
  const std::size_t entry_size = std::min<std::size_t>(500, bytes / at_least_entries);
  std::vector<std::string> entries;
  for (std::size_t size = 0; size < bytes;) {
    std::string text = "message " + std::to_string(entries.size()) + " ";
    text.resize(std::max(entry_size, text.size() + 130) - 130, 'x');
    entries.push_back(test::entry(text));
    size += entries.back().size() + 4;
  }
  return test::inbox_of(entries);
}

/// The present, or some time after it: then every file is old enough to be known by its time stamps.
class ShiftedClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime steady() const override { return real_.steady(); }
  [[nodiscard]] EpochMs wall_ms() const override { return real_.wall_ms() + shift_ms; }
  EpochMs shift_ms = 0;

 private:
  SystemClock real_;
};

struct Team {
  PosixFileSystem files;
  ShiftedClock clock;
  config::Limits limits;
  fs::path root;

  explicit Team(const fs::path& below) : root(below / ("mailbox-bench-" + std::to_string(::getpid()))) {
    fs::create_directories(root / "inboxes");
  }
  ~Team() { fs::remove_all(root); }
  [[nodiscard]] ArrayInboxes mailbox() { return {files, clock, root.string(), "team", limits.inbox_file.count}; }
  void put(const std::string& bytes) const { test::spill(root / "inboxes" / "lead.json", bytes); }
};

void bench_mark(Team& team, const std::string& bytes, std::size_t marks, int rounds) {
  ArrayInboxes mailbox = team.mailbox();
  std::vector<double> calls;
  for (int round = 0; round < rounds; ++round) {
    team.put(bytes);
    const ReadResult read = mailbox.read("lead", ReadMode::unlocked);
    std::vector<std::size_t> last(std::min(marks, read.document.entries().size()));
    std::iota(last.begin(), last.end(), read.document.entries().size() - last.size());
    const auto start = std::chrono::steady_clock::now();
    const WriteResult result = mailbox.mark_read("lead", read.document, last);
    calls.push_back(Microseconds(std::chrono::steady_clock::now() - start).count());
    if (result.outcome != WriteOutcome::done || result.marked != last.size()) std::abort();
  }
  const Contention held = mailbox.contention();
  const Sample call = summarize(calls);
  std::printf("mark %3zu of %9zu bytes   lock held %6lu / %6lu us   call %8.0f / %8.0f us   holds per call %.1f\n",
              marks, bytes.size(), static_cast<unsigned long>(held.median_us), static_cast<unsigned long>(held.p99_us),
              call.median, call.p99, static_cast<double>(held.acquired) / rounds);
}

void bench_append(Team& team, const std::string& bytes, bool young, int rounds) {
  team.clock.shift_ms = young ? 0 : 10'000;
  ArrayInboxes mailbox = team.mailbox();
  std::vector<double> calls;
  for (int round = 0; round < rounds; ++round) {
    team.put(bytes);
    AppendReceipt receipt;
    const auto start = std::chrono::steady_clock::now();
    const WriteResult result = mailbox.append("lead", test::entry("answer"), receipt);
    calls.push_back(Microseconds(std::chrono::steady_clock::now() - start).count());
    if (result.outcome != WriteOutcome::done) std::abort();
  }
  const Contention held = mailbox.contention();
  const Sample call = summarize(calls);
  std::printf("append to %9zu bytes, %s   lock held %6lu / %6lu us   call %8.0f / %8.0f us\n", bytes.size(),
              young ? "just written" : "at rest     ", static_cast<unsigned long>(held.median_us),
              static_cast<unsigned long>(held.p99_us), call.median, call.p99);
}

void bench_poll(Team& team, std::size_t entries, int rounds) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < entries; ++i)
    all.push_back(test::entry("message " + std::to_string(i) + std::string(350, 'x'), "true"));
  const std::string bytes = test::inbox_of(all);
  team.put(bytes);
  team.clock.shift_ms = 10'000;
  ArrayInboxes mailbox = team.mailbox();
  std::vector<double> reads;
  std::vector<double> glances;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const ReadResult read = mailbox.read("lead", ReadMode::unlocked);
    const auto middle = std::chrono::steady_clock::now();
    const GlanceResult glance = mailbox.glance("lead");
    glances.push_back(Microseconds(std::chrono::steady_clock::now() - middle).count());
    reads.push_back(Microseconds(middle - start).count());
    if (read.document.entries().size() != entries || glance.glance != Glance::unchanged) std::abort();
  }
  const Sample read = summarize(reads);
  const Sample glance = summarize(glances);
  std::printf(
      "poll %zu entries (%zu bytes)   read and scan %8.0f / %8.0f us   glance at it unchanged %5.1f / %5.1f us\n",
      entries, bytes.size(), read.median, read.p99, glance.median, glance.p99);
}

}  // namespace

int main(int argc, char** argv) {
  Team team(argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path());
  std::printf("median / p99; in %s\n", team.root.c_str());
  for (const std::size_t size : {std::size_t{10'000}, std::size_t{1'000'000}, std::size_t{5'000'000}}) {
    const int rounds = size > 100'000 ? 200 : 1000;
    const std::string bytes = inbox_of_size(size, 100);
    for (const std::size_t marks : {std::size_t{1}, std::size_t{10}, std::size_t{100}}) {
      bench_mark(team, bytes, marks, rounds);
    }
    bench_append(team, bytes, false, rounds);
    bench_append(team, bytes, true, rounds);
  }
  bench_poll(team, 10'000, 100);
  return 0;
}
