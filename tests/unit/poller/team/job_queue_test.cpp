// What programs of the operator are told beside the polls: one at a time, again after a failure, in the order of their kind.
#include "poller/team/job_queue.hpp"

#include <csignal>

#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::job_queue_test {

using namespace inbox_poller::poller;
using test::World;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;

namespace {

struct Book {
  std::vector<std::string> program{"/bin/sh", "-c", "exit 0"};
  std::set<std::string> broken;  // whose program fails
  Names ran, told, failed;
  bool is_recorded = true;
  bool is_readable = true;
  int gives_up_after = 3;
};

class Call final : public Job {
 public:
  Call(Book& book, std::string name) : book_(book), name_(std::move(name)) {}

  [[nodiscard]] Program program() const override {
    static const std::vector<std::string> fails{"/bin/sh", "-c", "exit 3"};
    return {"test.program", book_.broken.contains(name_) ? fails : book_.program, 10'000ms};
  }
  Result<std::optional<boost::json::object>> due() override {
    if (!book_.is_readable) return Error{"ledger.gone", "for a moment"};
    if (name_ == "moot") return std::optional<boost::json::object>();
    book_.ran.push_back(name_);
    return std::optional(boost::json::object{{"name", name_}});
  }
  Status told() override {
    if (!book_.is_recorded) return Error{"ledger.gone", "for a moment"};
    book_.told.push_back(name_);
    return Done{};
  }
  bool failed(const std::string& why, int tries) override {
    book_.failed.push_back(name_ + ": " + why);
    return tries >= book_.gives_up_after;
  }

 private:
  Book& book_;
  std::string name_;
};

struct Running : World {
  Book book;
  JobQueue jobs;

  explicit Running(JobQueue::AfterFailure after) : jobs(clock, "t", after) {
    std::signal(SIGPIPE, SIG_IGN);  // as the daemon does: a program may end without having read
    for (const char* name : {"one", "moot", "two"}) jobs.add(std::make_unique<Call>(book, name));
  }
  void go(bool leaving = false) {
    for (bool more = true; more;) more = run(jobs.run_next([leaving] { return leaving; }));
  }
};

}  // namespace

TEST_CASE("jobs are run one after the other, and what is moot is passed over") {
  Running world(JobQueue::AfterFailure::same);
  world.go();
  CHECK(world.book.told == Names{"one", "two"});
  CHECK(world.jobs.size() == 0);
}

TEST_CASE("after a failure the same is told again, before the others") {
  Running world(JobQueue::AfterFailure::same);
  world.book.broken = {"one"};
  world.go();
  world.go();  // too early
  CHECK(world.book.ran == Names{"one"});
  CHECK(world.book.failed == Names{"one: test.program: /bin/sh ended with exit code 3"});
  world.book.broken.clear();
  world.clock.advance(2s);
  world.go();
  CHECK(world.book.told == Names{"one", "two"});
}

TEST_CASE("or the others are told first, once the pause is over") {
  Running world(JobQueue::AfterFailure::others);
  world.book.broken = {"one"};
  world.go();
  CHECK(world.book.ran == Names{"one"});
  world.clock.advance(2s);
  world.book.broken.clear();
  world.go();
  CHECK(world.book.told == Names{"two", "one"});
}

TEST_CASE("the pause grows with each failure up to a minute, and what is given up makes way") {
  Running world(JobQueue::AfterFailure::same);
  world.book.broken = {"one"};
  world.book.gives_up_after = 9;
  for (int tries = 1; tries <= 8; ++tries) {
    world.go();
    REQUIRE(world.book.failed.size() == static_cast<std::size_t>(tries));
    world.clock.advance(std::min<std::chrono::milliseconds>(60s, 1s * (1 << tries)) - 1ms);
    world.go();
    REQUIRE(world.book.failed.size() == static_cast<std::size_t>(tries));
    world.clock.advance(1ms);
  }
  world.go();
  CHECK(world.book.failed.size() == 9);
  CHECK(world.book.told == Names{"two"});
}

TEST_CASE("what could not be recorded is told again, and a ledger that cannot be read counts as no try") {
  Running world(JobQueue::AfterFailure::same);
  world.book.is_recorded = false;
  world.go();
  CHECK(world.book.told.empty());
  world.book.is_recorded = true;
  world.book.is_readable = false;
  world.clock.advance(2s);
  world.go();
  world.book.is_readable = true;
  world.clock.advance(2s);
  world.go();
  CHECK(world.book.told == Names{"one", "two"});
  CHECK(world.book.failed.empty());
}

TEST_CASE("a program that was taken out of the configuration is told nothing more") {
  Running world(JobQueue::AfterFailure::same);
  world.book.program.clear();
  world.go();
  CHECK(world.book.ran.empty());
  CHECK(world.jobs.size() == 0);
}

TEST_CASE("whoever leaves counts no failure") {
  Running world(JobQueue::AfterFailure::same);
  world.book.program = {"/bin/sleep", "600"};
  world.go(true);
  CHECK(world.book.failed.empty());
  CHECK(world.jobs.size() == 3);
}

}  // namespace inbox_poller::job_queue_test
