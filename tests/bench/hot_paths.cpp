// The hot paths, one a run, for valgrind --tool=callgrind --instr-atstart=no and for strace: counted is only what lies
// between two marks. Instructions and system calls do not depend on how busy the machine is, so that a regression
// shows. Without valgrind its marks do nothing; strace sees two calls of access().
//
//   hot_paths scan       one scan of an inbox of 1 MB
//   hot_paths idle       one poll of a team with nothing new behind 1,000 read entries
//   hot_paths take_in    one poll that takes in, records and marks one new message behind 1,000 read entries
//   hot_paths decide     a permission request decided by rule: from its text to the bytes of the answer
//   hot_paths request    one poll that takes in a permission request, decides it by rule and writes the answer
//   hot_paths drain      one poll that takes in, records and marks 2,000 new messages of 1 KB
//   hot_paths hand_over  one offer that acknowledges the message before, behind 1,000 delivered ones
//   hot_paths boxes      one poll that reads 1,000 workers' inboxes of 20 entries for the first time
//   hot_paths rest       one poll of these inboxes with nothing new
//
// Standard output has the heap in use after the path, in bytes, as malloc counts it.
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else  // only where the syntax is checked; the build of deploy/bench insists on the header
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

#include <malloc.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <exception>
#include <memory>

#include "poller/team/team.hpp"
#include "tests/bench/material.hpp"

namespace inbox_poller::bench {
namespace {

using namespace poller;
namespace fs = std::filesystem;

std::string roster_of(int workers) {
  std::string text = R"({"name": "t", "leadAgentId": "team-lead@t", "leadSessionId": "s", "members": [
    {"agentId": "team-lead@t", "name": "team-lead"})";
  for (int n = 1; n <= workers; ++n) {
    const std::string name = "w" + std::to_string(n);
    text += R"(, {"agentId": ")" + name + R"(@t", "name": ")" + name + R"(", "color": "blue", "cwd": "/repo"})";
  }
  return text + "]}";
}

/// A machine without processes, so that no count depends on what else runs.
class NoProcesses final : public Processes {
 public:
  Result<ProcessRef> identify(long long) override { return Error{"process.gone", "there are none"}; }
  bool is_alive(const ProcessRef&) override { return false; }
  std::vector<ProcessRef> family(const ProcessRef&) override { return {}; }
  std::vector<ProcessRef> families(const std::vector<ProcessRef>&) override { return {}; }
  std::optional<ProcessRef> in_front_of(const ProcessRef&) override { return std::nullopt; }
  std::vector<std::string> arguments(const ProcessRef&) override { return {}; }
  std::vector<ProcessRef> with_word(std::string_view) override { return {}; }
  long long started_ms(const ProcessRef&) override { return 0; }
  bool may_signal(const ProcessRef&) override { return false; }
  Status signal(const ProcessRef&, int) override { return Error{"process.refused", "there are none"}; }
};

/// A team as the daemon serves it, with a clock that moves when told to.
class Served {
 public:
  explicit Served(int workers = 2) {
    config_.permissions.rules.allow.push_back(rule("Bash(git status:*)"));
    config_.team.name = "t";
    config_.compaction.enabled = false;  // the cost behind history, as long as it is there
    config_.team.root = scratch_.path("teams").string();
    fs::create_directories(inboxes());
    test::spill(scratch_.path("teams/t/config.json"), roster_of(workers));
    config::LogSettings log;
    log.file = scratch_.path("log").string();
    telemetry_ = std::move(*Telemetry::open(log));
    services_.reset(new Runtime{files_, *ledger_, *telemetry_, clock_, commits_, quarantine_, processes_,
                                 context_.get_executor(), pool_, "/home/u"});
    team_ = std::make_unique<Team>(*services_, config_, "t");
    if (!team_->restore()) give_up("the team could not be restored");
  }

  void put(const std::vector<std::string>& entries, const std::string& owner = "team-lead") const {
    test::replace(inboxes() / (owner + ".json"), test::inbox_of(entries));
  }
  /// Old enough to be known by its time stamps, at the next look.
  void settle() { clock_.advance(std::chrono::seconds(10)); }

  void poll() {
    std::exception_ptr failure;
    bool served = false;
    boost::asio::co_spawn(context_, team_->poll(), [&](std::exception_ptr thrown, Team::Polled polled) {
      failure = thrown;
      served = polled == Team::Polled::served;
    });
    context_.restart();
    context_.run();
    if (failure) std::rethrow_exception(failure);
    if (!served) give_up("the team was not served");
  }
  [[nodiscard]] std::string inbox(const std::string& owner = "team-lead") const {
    return test::slurp(inboxes() / (owner + ".json"));
  }
  /// Offers one message to a receiver that took this one.
  std::string take_after(const std::string& key) {
    FetchOptions fetch;
    fetch.by_hand = true;
    fetch.max = 1;
    auto offered = team_->delivery().offer(fetch, key.empty() ? std::vector<std::string>{} : std::vector{key});
    if (!offered || offered->size() != 1) give_up("nothing was offered");
    return offered->front().key.value;
  }

 private:
  [[nodiscard]] fs::path inboxes() const { return scratch_.path("teams/t/inboxes"); }

  test::ScratchDir scratch_;
  config::TeamConfig config_;
  PosixFileSystem files_;
  test::ManualClock clock_;
  std::unique_ptr<Ledger> ledger_ = std::move(*Ledger::open(scratch_.path("ledger.db").string()));
  std::unique_ptr<Telemetry> telemetry_;
  NoProcesses processes_;
  Quarantine quarantine_{files_, scratch_.path("quarantine").string()};
  boost::asio::io_context context_{1};
  boost::asio::thread_pool pool_{1};
  GroupCommit commits_{*ledger_};
  std::unique_ptr<Runtime> services_;
  std::unique_ptr<Team> team_;
};

std::vector<std::string> history() {
  std::vector<std::string> entries;
  for (int n = 0; n < 1000; ++n)
    entries.push_back(test::entry("message " + std::to_string(n) + " " + std::string(280, 'x'), "true", "w1"));
  return entries;
}

template <class Work>
void count(Work work) {
  static_cast<void>(::access("/hot-path/begin", F_OK));
  CALLGRIND_START_INSTRUMENTATION;
  work();
  CALLGRIND_STOP_INSTRUMENTATION;
  static_cast<void>(::access("/hot-path/end", F_OK));
  const auto heap = ::mallinfo2();
  std::printf("%zu\n", heap.uordblks + heap.hblkhd);
}

void scan() {
  std::string bytes = inbox_of_bytes(1'000'000);
  std::size_t found = 0;
  count([&] { found = poller::InboxDocument::scan(std::move(bytes), {"t", "team-lead"}).entries().size(); });
  if (found < 2000) give_up("entries are missing");
}

void poll(bool with_news) {
  Served served;
  auto entries = history();
  served.put(entries);
  served.settle();
  served.poll();
  served.settle();
  served.poll();
  if (with_news) {  // what is built once is not counted
    entries.push_back(test::entry("the first news " + std::string(280, 'x'), "false", "w1"));
    served.put(entries);
    served.settle();
    served.poll();
    served.settle();
    served.poll();
  }
  if (with_news) {
    entries.push_back(test::entry("the news " + std::string(280, 'x'), "false", "w1"));
    served.put(entries);
    served.settle();
  }
  count([&] { served.poll(); });
  if (served.inbox().find("\"read\": false") != std::string::npos) give_up("the message was not marked");
}

void request() {
  Served served;
  std::vector<std::string> entries;
  const auto ask = [&](const std::string& id) {
    entries.push_back(test::entry(permission_request(id), "false", "w1"));
    served.put(entries);
    served.settle();
  };
  ask("perm-1-aaaaaaa");  // what is built once is not counted
  served.poll();
  ask("perm-2-aaaaaaa");
  count([&] { served.poll(); });
  if (served.inbox("w1").find("perm-2-aaaaaaa") == std::string::npos) give_up("no answer was written");
}

std::vector<std::string> unread(int number) {
  std::vector<std::string> entries;
  for (int n = 0; n < number; ++n)
    entries.push_back(test::entry("message " + std::to_string(n) + " " + std::string(900, 'x'), "false", "w1"));
  return entries;
}

void drain() {
  Served served;
  served.put(unread(1));
  served.settle();
  served.poll();
  served.put(unread(2001));
  served.settle();
  count([&] { served.poll(); });
  if (served.inbox().find("\"read\": false") != std::string::npos) give_up("not all messages were marked");
}

void hand_over() {
  Served served;
  served.put(unread(1002));
  served.settle();
  served.poll();
  std::string key;
  for (int n = 0; n < 1001; ++n) key = served.take_after(key);
  count([&] { key = served.take_after(key); });
}

void boxes(bool at_rest) {
  constexpr int workers = 1000;
  Served served(workers);
  std::vector<std::string> entries;
  for (int n = 0; n < 20; ++n)
    entries.push_back(test::entry("word " + std::to_string(n) + " " + std::string(280, 'x'), "true", "team-lead"));
  for (int n = 1; n <= workers; ++n) served.put(entries, "w" + std::to_string(n));
  served.settle();
  for (int polls = 0; at_rest && polls < 3; ++polls) {
    served.poll();
    served.settle();
  }
  count([&] { served.poll(); });
}

void decide() {
  const Decision decision;
  std::size_t size = decision.take();  // what is built once is not counted
  count([&] { size = decision.take(); });
  if (size == 0) give_up("no answer");
}

}  // namespace
}  // namespace inbox_poller::bench

int main(int argc, char** argv) {
  using namespace inbox_poller::bench;
  const std::string path = argc > 1 ? argv[1] : "";
  if (path == "scan")
    scan();
  else if (path == "idle")
    poll(false);
  else if (path == "take_in")
    poll(true);
  else if (path == "decide")
    decide();
  else if (path == "request")
    request();
  else if (path == "drain")
    drain();
  else if (path == "hand_over")
    hand_over();
  else if (path == "boxes")
    boxes(false);
  else if (path == "rest")
    boxes(true);
  else
    give_up("expected scan, idle, take_in, decide, request, drain, hand_over, boxes or rest, found \"" + path + "\"");
  return 0;
}
