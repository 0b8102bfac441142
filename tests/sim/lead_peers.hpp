// Models of whoever stands on the lead's side: programs that take its chat, a person, another consumer of its inbox.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/peers.hpp"

namespace inbox_poller::sim {

/// A program that takes the lead's chat: attach, recv, ack. As a `socket` it stays attached; by hand it only asks.
class SocketLead final : public Peer {
 public:
  SocketLead(World& world, bool by_hand) : world_(world), by_hand_(by_hand) {}
  void start() override;
  void lose_power() override { ++life_; }

 private:
  void connect();
  void receive(const std::string& acked);
  void take(const boost::json::object& answer);
  void acknowledge(const boost::json::array& keys);
  void after(Span delay, std::function<void()> step);
  World& world_;
  bool by_hand_;
  std::shared_ptr<World::Line> line_;
  int life_ = 0, daemon_life_ = 0;
};

/// A person who answers what is open, sometimes twice and with another word, and who orders and ends workers.
class Person final : public Peer {
 public:
  Person(World& world, bool ends_workers, bool reloads)
      : world_(world), ends_workers_(ends_workers), reloads_(reloads) {}
  void start() override;

 private:
  void look();
  void order();
  void answer_once(const std::string& id);
  void answer(const std::string& id, bool approves);
  void write_to(const std::string& worker);
  void end(const std::string& worker);
  World& world_;
  bool ends_workers_, reloads_;
  std::shared_ptr<World::Line> line_;
  std::vector<std::string> answered_;
  int orders_ = 0;
};

/// Another lead, which takes whatever it finds: client 2.1.50 marks it as read, later clients delete it.
class Rival final : public Peer {
 public:
  Rival(World& world, Client client) : world_(world), client_(client), boxes_(world, client) {}
  void start() override;
  void lose_power() override { boxes_.die(); }

 private:
  void read();
  World& world_;
  Client client_;
  BoxAccess boxes_;
};

}  // namespace inbox_poller::sim
