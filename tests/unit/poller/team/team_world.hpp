// One team's whole service in one process: a real ledger, a roster, a clock that moves when told to, and boxes in memory,
// or files where these are the subject.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "poller/team/team.hpp"
#include "poller/mailbox/arrays/array_entry.hpp"
#include "poller/systems/mailbox_system.hpp"
#include "schema/json_scan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/memory_mailbox.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::test {

using namespace inbox_poller::poller;
namespace json = boost::json;
namespace fs = std::filesystem;

inline constexpr const char* kRoster = R"({
  "name": "t", "leadAgentId": "team-lead@t", "leadSessionId": "s", "members": [
    {"agentId": "team-lead@t", "name": "team-lead"},
    {"agentId": "w1@t", "name": "w1", "color": "blue", "cwd": "/repo"},
    {"agentId": "w2@t", "name": "w2"}]})";

inline config::TeamConfig make_config(const ScratchDir& scratch) {
  config::TeamConfig config;
  config.team.name = "t";
  config.team.root = scratch.path("teams").string();
  config.permissions.rules.allow.push_back(*config::parse_permission_rule("Bash(git status)"));
  return config;
}

enum class Boxes { in_memory, in_files };

struct World {
  ScratchDir scratch;
  config::TeamConfig config = make_config(scratch);
  PosixFileSystem real;
  FaultyFileSystem files{real};
  ManualClock clock;
  std::unique_ptr<Ledger> ledger = std::move(*Ledger::open(scratch.path("ledger.db").string()));
  std::unique_ptr<Telemetry> telemetry;
  SystemProcesses processes;
  Quarantine quarantine{files, scratch.path("quarantine").string()};
  boost::asio::io_context context{1};
  boost::asio::thread_pool pool{1};
  std::unique_ptr<GroupCommit> commits;
  std::unique_ptr<Runtime> services;
  std::shared_ptr<MemoryMailbox> memory;  // null: in files
  std::unique_ptr<Team> team;

  World() : World([](config::TeamConfig&) {}) {}
  /// With another configuration than the usual one.
  explicit World(const std::function<void(config::TeamConfig&)>& adapt, Boxes boxes = Boxes::in_memory) {
    adapt(config);
    if (boxes == Boxes::in_memory) memory = std::make_shared<MemoryMailbox>();
    fs::create_directories(inboxes());
    spill(scratch.path("teams/t/config.json"), kRoster);
    config::LogSettings log;
    log.file = scratch.path("log").string();
    telemetry = std::move(*Telemetry::open(log));
    commits = std::make_unique<GroupCommit>(*ledger);
    services.reset(new Runtime{files, *ledger, *telemetry, clock, *commits, quarantine, processes,
                                context.get_executor(), pool, "/home/u"});
    ledger->tell([&changes = services->changes](Areas areas) { changes.raise(areas); });
    restart();
  }

  [[nodiscard]] fs::path inboxes() const { return scratch.path("teams/t/inboxes"); }

  void restart() {
    auto boxes = system_of(config).open(files, clock, pool, config, "t", {});
    if (memory) {
      memory->reopen();
      boxes.mailbox = memory;
    }
    team = std::make_unique<Team>(*services, config, "t", std::move(boxes));
    REQUIRE(team->restore());
  }

  template <class T>
  T run(boost::asio::awaitable<T> task) {
    std::optional<T> result;
    std::exception_ptr failure;
    boost::asio::co_spawn(context, keep_result(std::move(task), result),
                          [&](std::exception_ptr thrown) { failure = thrown; });
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
    return *result;
  }

  void poll() { REQUIRE(run(team->poll()) == Team::Polled::served); }

  void write_lead(const std::vector<std::string>& entries) { write("team-lead", entries); }
  /// What stands in the box from now on.
  void write(const std::string& name, const std::vector<std::string>& entries) {
    if (memory) {
      auto& box = memory->box(name);
      box.clear();
      for (const auto& entry : entries) box.push_back(boxed(name, entry));
      return;
    }
    std::string bytes = "[";
    for (const auto& entry : entries) bytes += (bytes.size() > 1 ? ",\n  " : "\n  ") + entry;
    spill(inboxes() / (name + ".json"), bytes + "\n]");
  }
  /// A peer is at the box.
  void hold(const std::string& name, bool held = true) {
    if (memory) {
      memory->obstruct(name, {held ? WriteStatus::busy : WriteStatus::done, held ? "held by a peer" : ""});
    } else if (held) {
      fs::create_directory(inboxes() / (name + ".json.lock"));
    } else {
      fs::remove(inboxes() / (name + ".json.lock"));
    }
  }

  static std::string entry(const std::string& from, const std::string& text, int second = 1) {
    return poller::encode_entry({from, text, "", "2026-02-07T15:20:" + std::to_string(10 + second) + ".000Z", "",
                                    "00000000-0000-4000-8000-00000000000" + std::to_string(second % 10)});
  }
  static std::string request(const std::string& id, const std::string& command, const std::string& agent = "w1") {
    return R"({"type":"permission_request","request_id":")" + id + R"(","agent_id":")" + agent +
           R"(","tool_name":"Bash","tool_use_id":"toolu_1","description":"d","input":{"command":)" +
           schema::quote(command) + R"(},"permission_suggestions":[]})";
  }

  json::array inbox(const std::string& name) const {
    if (memory) return listed(memory->box(name));
    const auto path = inboxes() / (name + ".json");
    return fs::exists(path) ? json::parse(slurp(path)).as_array() : json::array();
  }
  /// As an array inbox would show it.
  static json::array listed(const MemoryMailbox::Box& box) {
    json::array entries;
    for (const auto& one : box) {
      auto entry = json::parse(one.bytes.empty() ? poller::encode_entry(one.message) : one.bytes).as_object();
      entry["read"] = one.read;
      entries.push_back(std::move(entry));
    }
    return entries;
  }
  static MemoryMailbox::Entry boxed(const std::string& name, const std::string& entry) {
    const auto message = poller::decode_entry(entry);
    if (!message) return {MemoryMailbox::key_of(name, {"", entry, "", "", "", ""}), {}, false, entry};
    const auto value = json::parse(entry);
    const auto* read = value.as_object().if_contains("read");
    return {MemoryMailbox::key_of(name, *message), *message, read != nullptr && read->as_bool()};
  }
  json::object payload(const std::string& name, std::size_t index) const {
    return json::parse(json::value_to<std::string>(inbox(name).at(index).at("text"))).as_object();
  }
  bool all_read() const {
    for (const auto& entry : inbox("team-lead"))
      if (!entry.at("read").as_bool()) return false;
    return true;
  }
  [[nodiscard]] std::string log() const { return slurp(scratch.path("log")); }
  [[nodiscard]] bool logged(const std::string& event) const {
    return log().find('"' + event + '"') != std::string::npos;
  }
  std::vector<LeasedMessage> receive() { return *team->delivery().offer(by_hand()); }
  static FetchOptions by_hand() {
    FetchOptions fetch;
    fetch.receiver = "recv";
    fetch.max = 100;
    fetch.by_hand = true;
    return fetch;
  }
};

/// Where the files are the subject.
struct FileWorld : World {
  explicit FileWorld(const std::function<void(config::TeamConfig&)>& adapt = [](config::TeamConfig&) {})
      : World(adapt, Boxes::in_files) {}
};

}  // namespace inbox_poller::test
