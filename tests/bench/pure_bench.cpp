// Google Benchmark of the parts that do no I/O, and of a commit: what each costs by itself, warm and alone.
#include <benchmark/benchmark.h>

#include "poller/ledger/ledger.hpp"
#include "schema/codec.hpp"
#include "poller/mailbox/arrays/inbox_document.hpp"
#include "tests/bench/material.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::bench {
namespace {

void scan(benchmark::State& state) {
  const std::string bytes = inbox_of_bytes(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state)
    benchmark::DoNotOptimize(poller::InboxDocument::scan(bytes, {"falcon", "team-lead"}).entries().size());
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(scan)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

void key(benchmark::State& state) {
  const std::string text(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state)
    benchmark::DoNotOptimize(
        schema::make_message_key({"falcon", "team-lead"}, "w1", "2026-02-07T15:20:46.348Z", text, 0));
}
BENCHMARK(key)->Arg(100)->Arg(1000);

void decode_payload_of_request(benchmark::State& state) {
  const std::string text = permission_request("perm-1-aaaaaaa");
  for (auto _ : state) benchmark::DoNotOptimize(schema::decode_payload(text));
}
BENCHMARK(decode_payload_of_request);

void decode_payload_of_chat(benchmark::State& state) {
  const std::string text(1000, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(schema::decode_payload(text));
}
BENCHMARK(decode_payload_of_chat);

void dispatch_by_rule(benchmark::State& state) {
  const Decision decision;
  for (auto _ : state) benchmark::DoNotOptimize(decision.take());
}
BENCHMARK(dispatch_by_rule);

void encode_permission_response(benchmark::State& state) {
  const schema::PermissionResponse response{"perm-1-aaaaaaa", true, R"({"command":"git status -s"})", "", ""};
  for (auto _ : state) benchmark::DoNotOptimize(schema::encode(response));
}
BENCHMARK(encode_permission_response);

/// One transaction with so many messages, synced: the disk's time, above all.
void commit_rows(benchmark::State& state) {
  const test::ScratchDir scratch;
  auto ledger = poller::Ledger::open(scratch.path("ledger.db").string());
  if (!ledger) return state.SkipWithError(ledger.error().message.c_str());
  std::size_t number = 0;
  for (auto _ : state) {
    const Status committed = (*ledger)->transaction([&]() -> Status {
      for (std::int64_t n = 0; n < state.range(0); ++n)
        if (auto inserted = (*ledger)->messages().insert(message_row(++number)); !inserted) return inserted.error();
      return Done{};
    });
    if (!committed) return state.SkipWithError(committed.error().message.c_str());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(commit_rows)->Arg(1)->Arg(10)->Arg(100)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace inbox_poller::bench

BENCHMARK_MAIN();
