// A folder that agents share, the operations of some of them, and a kill at every call that they make.
#pragma once

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poller/mailbox/maildir/maildir_operations.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/portion.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::test {

/// What a killed process leaves with.
struct Killed {};

struct MaildirSetting {
  ScratchDir scratch;
  poller::PosixFileSystem real;
  FaultyFileSystem files{real};
  ManualClock clock;
  boost::asio::io_context io;
  poller::TaskSettings settings;

  MaildirSetting() { std::filesystem::permissions(scratch.path(), std::filesystem::perms::owner_all); }

  std::unique_ptr<poller::MaildirOperations> actor(const std::string& name) {
    auto opened =
        poller::MaildirOperations::open(scratch.path().string(), name, files, clock, io.get_executor(), settings);
    REQUIRE(opened.ok());
    return *std::move(opened);
  }

  /// What is in a folder of the root, dot files too.
  [[nodiscard]] std::vector<std::string> names(const std::string& below) const {
    std::vector<std::string> found;
    if (std::filesystem::exists(scratch.path(below)))
      for (const auto& one : std::filesystem::directory_iterator(scratch.path(below)))
        found.push_back(one.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  [[nodiscard]] std::string bytes(const std::string& below) const { return slurp(scratch.path(below)); }
  void put(const std::string& below, std::string_view bytes) const {
    std::filesystem::create_directories(scratch.path(below).parent_path());
    spill(scratch.path(below), bytes);
  }
  [[nodiscard]] boost::json::object only(const std::string& folder) const {
    const auto found = names(folder);
    REQUIRE(found.size() == 1);
    return boost::json::parse(bytes(folder + '/' + found.front())).as_object();
  }

  Result<std::optional<poller::HandOut>> recv(poller::ActorMail& operations, poller::Filter filter = {},
                                              std::chrono::milliseconds within = std::chrono::milliseconds(0)) {
    std::optional<Result<std::optional<poller::HandOut>>> got;
    boost::asio::co_spawn(io, keep_result(operations.recv(std::move(filter), within), got),
                          [](std::exception_ptr problem) {
                            if (problem) std::rethrow_exception(problem);
                          });
    io.restart();
    while (!got && io.run_one() > 0) {
    }
    REQUIRE(got.has_value());
    return *std::move(got);
  }
  /// What is received and acknowledged until there is nothing more: the payloads.
  std::vector<std::string> drain(poller::ActorMail& operations) {
    std::vector<std::string> payloads;
    for (;;) {
      auto got = recv(operations);
      REQUIRE(got.ok());
      if (!got->has_value()) return payloads;
      payloads.push_back(boost::json::serialize((*got)->message.at("payload")));
      REQUIRE(operations.acknowledge((*got)->ticket).ok());
    }
  }
};

inline std::string text_in(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

inline constexpr std::chrono::milliseconds a_lease = std::chrono::seconds(120);

inline std::string id_of(const Result<boost::json::object>& task) {
  REQUIRE(task.ok());
  return text_in(*task, "id");
}

inline std::string claimed_id(poller::ActorTasks& actor, std::optional<std::string> type = {}) {
  const auto task = actor.claim(type, a_lease);
  REQUIRE(task.ok());
  return task->has_value() ? text_in(**task, "id") : std::string("none");
}

/// Everything that is being given back is given back.
inline std::vector<boost::json::object> sweep_through(MaildirSetting& setting, poller::SharedBox& actor) {
  std::vector<boost::json::object> objects;
  for (int scan = 0; scan < 2; ++scan) {
    if (scan > 0) setting.clock.advance(std::chrono::seconds(3));
    const auto swept = actor.tasks().sweep();
    REQUIRE(swept.ok());
    for (const poller::TaskFile& one : swept->gone) objects.push_back(one.task.object());
  }
  return objects;
}

/// Runs `body` in fresh settings, killed before its first call, its second, and so on until it gets through; `after`
/// then looks, in a process of its own. Returns how many kills there were. The usual run takes one call of each `step`.
template <class Prepare, class Body, class After>
unsigned with_every_kill(Prepare prepare, Body body, After after, int step = 1) {
  Points points(is_long_form() ? 1 : step);
  for (unsigned kills = 0;; ++kills) {
    const auto nth = static_cast<unsigned>(points.next());
    REQUIRE(nth < 1000);
    CAPTURE(nth);
    MaildirSetting setting;
    prepare(setting);
    unsigned left = nth;
    setting.files.before_any([&left] {
      if (--left == 0) throw Killed{};
    });
    bool killed = false;
    try {
      body(setting);
    } catch (const Killed&) {
      killed = true;
    }
    setting.files.before_any({});
    after(setting, killed);
    if (!killed) return kills;
  }
}

}  // namespace inbox_poller::test
