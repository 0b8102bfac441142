// Whose answers a worker takes, by its process: what is looked for when, and what is believed for how long.
#include "poller/worker_processes.hpp"

#include <algorithm>
#include <map>

#include "tests/support/catch.hpp"
#include "tests/support/mailbox_setting.hpp"

namespace inbox_poller::worker_processes_test {

using namespace inbox_poller::poller;
using handlers::WorkerProcess;
using namespace std::chrono_literals;

namespace {

struct Machine final : Processes {
  std::map<long long, std::vector<std::string>> all;  // their arguments
  int looks = 0;

  Result<ProcessRef> identify(long long pid) override {
    if (all.contains(pid)) return ProcessRef{pid, "then"};
    return Error{"process.gone", "gone"};
  }
  bool is_alive(const ProcessRef& process) override { return all.contains(process.pid); }
  std::vector<ProcessRef> family(const ProcessRef&) override { return {}; }
  std::vector<ProcessRef> families(const std::vector<ProcessRef>&) override { return {}; }
  std::optional<ProcessRef> in_front_of(const ProcessRef&) override { return std::nullopt; }
  std::vector<std::string> arguments(const ProcessRef& process) override {
    return all.contains(process.pid) ? all.at(process.pid) : std::vector<std::string>{};
  }
  std::vector<ProcessRef> with_word(std::string_view word) override {
    ++looks;
    std::vector<ProcessRef> found;
    for (const auto& [pid, words] : all)
      if (std::find(words.begin(), words.end(), word) != words.end()) found.push_back({pid, "then"});
    return found;
  }
  long long started_ms(const ProcessRef&) override { return 0; }
  bool may_signal(const ProcessRef&) override { return false; }
  Status signal(const ProcessRef&, int) override { return Error{"process.refused", "nobody"}; }
};

const std::vector<std::string> plain{"claude", "--agent-id", "ada@t", "--model", "m"};
const std::vector<std::string> keyed{"claude", "--agent-id", "ada@t", "--lead-verify-key", "1.MCow", "--model", "m"};

struct Scene {
  Machine machine;
  test::ManualClock clock;
  WorkerProcesses workers{machine, clock};
  long long joined = 1;  // long ago

  WorkerProcess look(const std::string& agent = "ada@t") { return workers.look(agent, joined).process; }
};

}  // namespace

TEST_CASE("a worker that joined anew is looked for, whatever the system's clock was set to meanwhile") {
  Scene scene;
  CHECK(scene.look() == WorkerProcess::unseen);
  scene.clock.advance(1s);
  CHECK(scene.look() == WorkerProcess::unseen);
  CHECK(scene.machine.looks == 1);
  scene.machine.all[7] = keyed;
  scene.joined = 2;  // a moment ago, and long ago by a clock that was set forward since
  CHECK(scene.look() == WorkerProcess::with_key);
  CHECK(scene.machine.looks == 2);
}

TEST_CASE("a worker is told by the words of its process, each a word of its own") {
  Scene scene;
  scene.machine.all[1] = {"sh", "-c", "claude --agent-id ada@t --lead-verify-key 1.MCow"};
  scene.machine.all[2] = {"claude", "--agent-id"};
  scene.machine.all[3] = {"claude", "--agent-id", "bob@t", "--lead-verify-key", "1.MCow"};
  CHECK(scene.look() == WorkerProcess::unseen);
  CHECK(scene.look("") == WorkerProcess::unseen);
  scene.clock.advance(61s);
  scene.machine.all[4] = plain;
  CHECK(scene.look() == WorkerProcess::without_key);
  CHECK(scene.workers.look("ada@t", 1).pid == 4);
  CHECK(scene.look("bob@t") == WorkerProcess::with_key);
}

TEST_CASE("of several that name the worker the one with a key decides") {
  Scene scene;
  scene.machine.all[1] = plain;
  scene.machine.all[2] = keyed;
  scene.machine.all[3] = plain;
  CHECK(scene.look() == WorkerProcess::with_key);
  CHECK(scene.workers.look("ada@t", 1).pid == 2);
}

TEST_CASE("one look serves all workers, and what it found is asked again, not looked for") {
  Scene scene;
  for (int n = 0; n < 1000; ++n)
    scene.machine.all[n] = {"claude", "--agent-id", "w" + std::to_string(n) + "@t", "--lead-verify-key", "1.A"};
  for (int round = 0; round < 3; ++round, scene.clock.advance(10min))
    for (int n = 0; n < 1000; ++n) CHECK(scene.look("w" + std::to_string(n) + "@t") == WorkerProcess::with_key);
  CHECK(scene.machine.looks == 1);
  scene.machine.all[7] = {"vi", "notes"};  // another program in its process
  CHECK(scene.look("w7@t") == WorkerProcess::unseen);
  CHECK(scene.machine.looks == 2);
}

TEST_CASE("who joined just now, or nobody knows when, is looked for each time, so that no namesake hides the one with a key") {
  Scene scene;
  scene.joined = GENERATE(false, true) ? scene.clock.wall_ms() : 0;  // 0: its roster does not say
  scene.machine.all[1] = plain;
  CHECK(scene.look() == WorkerProcess::without_key);
  scene.machine.all[2] = keyed;
  scene.clock.advance(9ms);
  CHECK(scene.look() == WorkerProcess::without_key);  // nobody begins and requests in so short a time
  scene.clock.advance(1ms);
  CHECK(scene.look() == WorkerProcess::with_key);
}

TEST_CASE("one with a key that ended and came back is found beside a namesake without") {
  Scene scene;
  scene.machine.all[1] = plain;
  scene.machine.all[2] = keyed;
  CHECK(scene.look() == WorkerProcess::with_key);
  scene.clock.advance(10min);
  scene.machine.all.erase(2);
  scene.machine.all[3] = keyed;
  CHECK(scene.look() == WorkerProcess::with_key);
  CHECK(scene.workers.look("ada@t", 1).pid == 3);
}

TEST_CASE(
    "who is not to be seen long after it joined is looked for once a minute, and at once when it was seen before") {
  Scene scene;
  CHECK(scene.look() == WorkerProcess::unseen);
  for (int second = 0; second < 59; ++second, scene.clock.advance(1s)) CHECK(scene.look() == WorkerProcess::unseen);
  CHECK(scene.machine.looks == 1);
  scene.clock.advance(2s);
  scene.machine.all[1] = plain;
  CHECK(scene.look() == WorkerProcess::without_key);
  CHECK(scene.machine.looks == 2);
  scene.machine.all.clear();
  scene.machine.all[2] = keyed;
  scene.clock.advance(1s);
  CHECK(scene.look() == WorkerProcess::with_key);
  CHECK(scene.machine.looks == 3);
}

TEST_CASE("a joining time that cannot be true costs looks and nothing else") {
  Scene scene;
  for (const long long joined : {std::numeric_limits<long long>::max(), std::numeric_limits<long long>::min()}) {
    scene.joined = joined;
    CHECK(scene.look() == WorkerProcess::unseen);
    scene.clock.advance(1s);
  }
}

}  // namespace inbox_poller::worker_processes_test
