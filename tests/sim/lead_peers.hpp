// Models of whoever stands on the lead's side: programs that take its chat, a person, another consumer of its inbox.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/peers.hpp"

namespace inbox_poller::sim {

/// How a lead takes its chat.
enum class Way {
  socket,   // stays attached: attach, recv, ack
  by_hand,  // only asks: recv, ack
  mcp,      // attach, and a waiting recv as a tool call; the next call says what the one before returned
  stream,   // as `lead run` with a client that speaks stream-json and names the lines that it takes up
};

/// The model gets the messages of a batch, in the form of the control socket.
void lead_gets(Machine& machine, const boost::json::array& messages, const std::string& block);

/// A program that takes the lead's chat.
class SocketLead final : public Peer {
 public:
  SocketLead(Machine& machine, Way way) : machine_(machine), way_(way) {}
  void start() override;
  void lose_power() override { ++life_; }

 private:
  void connect();
  void receive(const std::string& acked);
  void take(const boost::json::object& answer);
  void acknowledge(const boost::json::array& keys);
  /// The lead's program or its client dies. What it was given and did not acknowledge goes back.
  void die(const std::string& when);
  [[nodiscard]] bool dies();
  /// Tells the daemon what has become of the lead, as `lead run` does.
  void report(const std::string& event);
  void after(Span delay, std::function<void()> step);
  Machine& machine_;
  Way way_;
  std::shared_ptr<Machine::Line> line_;
  int life_ = 0, daemon_life_ = 0;
};

/// A program that reads the file to which the daemon appends the lead's chat (delivery.file).
class FileLead final : public Peer {
 public:
  explicit FileLead(Machine& machine);
  void start() override { read(); }

 private:
  void read();
  Machine& machine_;
  const std::string path_;
  std::size_t read_ = 0;  // bytes of the file
};

/// A person who answers what is open, sometimes twice and with another word, and who orders and ends workers.
class Person final : public Peer {
 public:
  Person(Machine& machine, bool ends_workers, bool reloads)
      : machine_(machine), ends_workers_(ends_workers), reloads_(reloads) {}
  void start() override;

 private:
  void look();
  void order();
  void answer_once(const std::string& id);
  void answer(const std::string& id, bool approves);
  void answer_wish(const std::string& id, bool approves);
  void write_to(const std::string& worker);
  void end(const std::string& worker);
  Machine& machine_;
  bool ends_workers_, reloads_;
  std::shared_ptr<Machine::Line> line_;
  std::vector<std::string> answered_;
  int orders_ = 0;
};

/// Another lead, which takes whatever it finds: client 2.1.50 marks it as read, later clients delete it.
class Rival final : public Peer {
 public:
  Rival(Machine& machine, Client client) : machine_(machine), client_(client), boxes_(machine, client) {}
  void start() override;
  void lose_power() override { boxes_.die(); }

 private:
  void read();
  Machine& machine_;
  Client client_;
  BoxAccess boxes_;
};

}  // namespace inbox_poller::sim
