// A team on several nodes in one process: each with its own folder, ledger and clock, one engine in memory between them.
// Nothing runs by itself: every step is called.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/memory_broker.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::test {

inline config::ClusterSettings host_settings(const std::string& node) {
  config::ClusterSettings nodes;
  nodes.redis_url = "redis+unix:///nowhere";
  nodes.id = "t";
  nodes.node = node;
  nodes.leads = {"h1", "h4"};
  nodes.members = {{"h2", {"w3", "w4"}}, {"h3", {"w5"}}, {"h4", {"w9"}}};
  return nodes;
}

struct NodeWorld : FileWorld {
  std::string node;
  MemoryBrokerData& broker;

  NodeWorld(MemoryBrokerData& the_engine, const std::string& name, const std::vector<std::string>& members)
      : FileWorld([&](config::TeamConfig& config) {
          config.cluster = host_settings(name);
          const bool leads = name == "h1" || name == "h4";
          config.team.role = leads ? config::Role::leader : config::Role::follower;
        }),
        node(name),
        broker(the_engine) {
    json::array list{{{"agentId", "team-lead@t"}, {"name", "team-lead"}, {"cwd", "/" + name + "/lead"}}};
    for (const auto& member : members)
      list.push_back({{"agentId", member + "@t"}, {"name", member}, {"cwd", "/" + name + "/" + member}, {"tmuxPaneId", "%7"}});
    spill(scratch.path("teams/t/config.json"),
          json::serialize(json::object{
              {"name", "t"}, {"leadAgentId", "team-lead@t"}, {"leadSessionId", "s"}, {"members", list}}));
    services->open_broker = [this](const config::TeamConfig&) -> Result<std::unique_ptr<Broker>> {
      return std::unique_ptr<Broker>(std::make_unique<MemoryBroker>(broker, node));
    };
    again();
  }

  /// As after kill -9: what is not in the ledger or in files is gone.
  void again() { restart(); }

  void turn() { each([this] { return team->cluster()->turn(); }); }
  void send() {
    each([this] {
      return team->cluster()->send([calls = 0]() mutable { return calls++ > 0; });
    });
  }
  void receive() {
    each([this] {
      return team->cluster()->receive([calls = 0]() mutable { return calls++ > 0; });
    });
  }
  void step() {
    turn();
    poll();
    send();
    receive();
    poll();
  }
  /// Chat for the lead session, acknowledged.
  std::vector<LeasedMessage> receive_chat() { return FileWorld::receive(); }
  /// By its owner, as clients do it.
  void read_all(const std::string& member) {
    auto entries = inbox(member);
    for (auto& entry : entries) entry.as_object()["read"] = true;
    if (!entries.empty()) replace(inboxes() / (member + ".json"), json::serialize(entries));
  }
  std::vector<std::string> texts(const std::string& member) const {
    std::vector<std::string> found;
    for (const auto& entry : inbox(member)) found.push_back(json::value_to<std::string>(entry.at("text")));
    return found;
  }
  void add(const std::string& box, const std::string& entry) {
    auto entries = inbox(box);
    entries.push_back(json::parse(entry));
    replace(inboxes() / (box + ".json"), json::serialize(entries));
  }

 private:
  template <class Task>
  void each(Task task) {
    auto whole = [](Task make) -> boost::asio::awaitable<bool> {
      co_await make();
      co_return true;
    };
    run(whole(std::move(task)));
  }
};

struct ClusterWorld {
  MemoryBrokerData broker;
  NodeWorld h1{broker, "h1", {"w1", "w2"}};
  NodeWorld h2{broker, "h2", {"w3", "w4"}};
  std::vector<NodeWorld*> all{&h1, &h2};

  void advance(std::chrono::milliseconds by) {
    broker.advance(by);
    for (auto* one : all) one->clock.advance(by);
  }
  /// Everybody a few times, a second apart.
  void go_on(int rounds = 4) {
    for (int i = 0; i < rounds; ++i) {
      for (auto* one : all) one->step();
      advance(std::chrono::milliseconds(1000));
    }
  }
};

}  // namespace inbox_poller::test
