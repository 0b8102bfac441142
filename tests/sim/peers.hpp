// The peers of a history as small models: workers of two clients, the lead's program, a person, a forger. Each follows
// measured facts (docs/reference/wire.md, W6 to W17).
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/world.hpp"

namespace inbox_poller::sim {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual void start() = 0;
  /// The machine lost its power: everything in memory is gone.
  virtual void lose_power() {}
};

/// The two ways in which clients use a box (W7, W11).
enum class Client {
  v2_1_50,   // drops what it writes when the lock is held, writes in place, marks what it read
  v2_1_331,  // waits for the lock, writes by rename, deletes what it took
};

/// The access of one process to the boxes, with the lock of proper-lockfile. Each call is several steps, between which
/// others act and the process may die.
class BoxAccess {
 public:
  BoxAccess(World& world, Client client) : world_(world), client_(client) {}

  using Change = std::function<bool(boost::json::array&)>;  // false: leave the file as it is
  /// Changes a box under its lock; `done` learns whether it was written.
  void change(const std::string& box, Change change, std::function<void(bool)> done);
  /// The entries now, without the lock; null: missing or not readable.
  std::optional<boost::json::array> look(const std::string& box) const;
  /// Everything under way ends here; a lock stays behind.
  void die() { ++life_; }

 private:
  void lock(const std::string& box, int tries, std::function<void(bool)> then);
  void write(const std::string& box, boost::json::array entries, std::function<void()> then);
  void after(Span delay, std::function<void()> step);
  World& world_;
  Client client_;
  int life_ = 0;
};

class Worker final : public Peer {
 public:
  Worker(World& world, std::string name, Client client)
      : world_(world), name_(std::move(name)), client_(client), boxes_(world, client) {}
  void start() override;
  void lose_power() override;

 private:
  void speak();
  void read();
  void take(const boost::json::object& entry);
  void send(const std::string& text, std::function<void(bool)> done);
  void send_chat();
  void send_request();
  void maybe_die();
  World& world_;
  std::string name_;
  Client client_;
  BoxAccess boxes_;
  int chats_ = 0, requests_ = 0;
  std::set<std::string> known_;          // replies that the process has taken; lost when it dies
  std::map<std::string, Span> deleted_;  // replies that left its box, with the time
};

/// A program that takes the lead's chat by the socket: attach, recv, ack.
class SocketLead final : public Peer {
 public:
  explicit SocketLead(World& world) : world_(world) {}
  void start() override;
  void lose_power() override { ++life_; }

 private:
  void connect();
  void receive(const std::string& acked);
  void take(const boost::json::object& answer);
  void after(Span delay, std::function<void()> step);
  World& world_;
  std::shared_ptr<World::Line> line_;
  int life_ = 0, daemon_life_ = 0;
};

/// A person who answers what is open, sometimes twice and with another word.
class Person final : public Peer {
 public:
  explicit Person(World& world) : world_(world) {}
  void start() override;

 private:
  void look();
  void answer_once(const std::string& id);
  void answer(const std::string& id, bool approves);
  World& world_;
  std::shared_ptr<World::Line> line_;
  std::vector<std::string> answered_;
};

/// A process of the same user that writes what it may not say.
class Forger final : public Peer {
 public:
  explicit Forger(World& world) : world_(world), boxes_(world, Client::v2_1_331) {}
  void start() override;

 private:
  void forge();
  World& world_;
  BoxAccess boxes_;
  int count_ = 0;
};

}  // namespace inbox_poller::sim
