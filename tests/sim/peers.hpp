// The peers of a history as small models. Each follows measured facts (docs/reference/wire.md, W3 to W22). Workers and
// forgers are here, who stands on the lead's side is in lead_peers.hpp.
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

#include "tests/sim/machine.hpp"
#include "tests/sim/members.hpp"

namespace inbox_poller::sim {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual void start() = 0;
  /// The machine lost its power: everything in memory is gone.
  virtual void lose_power() {}
  /// What it still has to do before all has settled; empty: nothing.
  [[nodiscard]] virtual std::string unsettled() const { return {}; }
};

bool is_read(const boost::json::object& entry);

/// The two ways in which clients use a box (W7, W11).
enum class Client {
  v2_1_50,   // drops what it writes when the lock is held, writes in place, marks what it read
  v2_1_331,  // waits for the lock, writes by rename, deletes what it took
};

/// The access of one process to the boxes, with the lock of proper-lockfile. Each call is several steps, between which
/// others act and the process may die.
class BoxAccess {
 public:
  BoxAccess(Machine& machine, Client client) : machine_(machine), client_(client) {}

  using Change = std::function<bool(boost::json::array&)>;  // false: leave the file as it is
  /// Changes a box under its lock; `done` learns whether it was written.
  void change(const std::string& box, Change change, std::function<void(bool)> done);
  struct Letter {
    std::string from, text;
    std::string summary = {};  // of what a model says; requests and notices have none
  };
  /// Appends an entry to a box, in the client's spelling.
  void append(const std::string& box, const Letter& letter, std::function<void(bool)> done);
  /// The entries now, without the lock; null: missing or not readable.
  std::optional<boost::json::array> look(const std::string& box) const;
  /// Everything under way ends here; a lock stays behind.
  void die() { ++life_; }

 private:
  boost::json::object entry(const Letter& letter);
  void lock(const std::string& box, int tries, std::function<void(bool)> then);
  using Rewrite = std::function<std::optional<std::string>(const std::string& bytes)>;
  void rewrite(const std::string& box, Rewrite made, std::function<void(bool)> done);
  void write(const std::string& box, const std::string& bytes, std::function<void()> then);
  void after(Span delay, std::function<void()> step);
  Machine& machine_;
  Client client_;
  int life_ = 0;
};

class Worker final : public Peer {
 public:
  /// `wishes`: when it asks to stop; null: never.
  Worker(Machine& machine, std::string name, Client client, bool verifies, std::shared_ptr<Dice> wishes)
      : machine_(machine),
        name_(std::move(name)),
        client_(client),
        verifies_(verifies),
        wishes_(std::move(wishes)),
        boxes_(machine, client) {}
  void start() override;
  void lose_power() override;
  [[nodiscard]] std::string unsettled() const override { return present_ ? "" : name_ + " is away"; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// False after its process has ended for good.
  [[nodiscard]] bool is_present() const { return present_; }
  /// True if its lead takes it out of the roster: it left by itself, or the daemon did not learn that it agreed to.
  [[nodiscard]] bool was_taken_out() const { return taken_out_ || (!present_ && now() - left_at_ > taken_out_after); }
  /// True once a successor may take its name: a lock that it left has been given up by then.
  [[nodiscard]] bool may_be_followed() const { return !present_ && now() - left_at_ > std::chrono::seconds(20); }
  [[nodiscard]] Span joined_at() const { return joined_at_; }
  /// Its process ends, and nothing is owed to it. `taken_out`: its lead takes it out of the roster.
  void leave(bool taken_out);
  /// A new process begins under this name.
  void join();
  /// Its process begins, in a pane of its own.
  void begin_process();
  /// Its process ended with the tmux server.
  void lose_process();
  /// Takes what is unread in its box, and does so each second from now on.
  void read();

 private:
  struct Said {
    std::string id, text;
  };
  void speak();
  void take(const boost::json::object& entry);
  void take_reply(const boost::json::object& payload, const boost::json::object& entry);
  void note_came_again(const std::string& same, const std::string& text);
  void asked_to_end(const std::string& id, const std::string& reason);
  void answer_end(const std::string& id, bool agrees);
  void send(const std::string& text, std::function<void(bool)> done, const std::string& summary = {});
  void send_chat();
  void send_request();
  void send_again();
  void send_idle();
  void send_wish();
  std::string request_text(const std::string& id, Request& request);
  void maybe_die();
  void end_process();
  void signaled(int number);
  Machine& machine_;
  std::string name_;
  Client client_;
  bool verifies_;
  std::shared_ptr<Dice> wishes_;
  BoxAccess boxes_;
  static constexpr Span taken_out_after = std::chrono::seconds(60);
  bool present_ = true, taken_out_ = false;
  Span left_at_{}, joined_at_{};
  std::string pane_;
  bool agreed_ = false;   // to end
  bool lingers_ = false;  // its process does not end by itself, although it agreed
  int chats_ = 0, requests_ = 0;
  std::string idle_box_;                 // its box when it last had nothing unread
  std::vector<Said> said_;               // requests, for repeats
  std::set<std::string> known_;          // entries that the process has taken; lost when it dies
  std::map<std::string, Span> deleted_;  // entries that left its box, with the time
  std::set<std::string> reused_;         // ids under which it asked something else
  std::set<std::string> repeated_;       // ids that it asked again: their replies come again
};

/// Whoever changes the roster: members leave and join, and old clients leave the file empty for a while (W3).
class Churn final : public Peer {
 public:
  /// `acts`: it also makes members leave. Otherwise it only brings back those whose shutdown has ended.
  Churn(Machine& machine, std::vector<std::shared_ptr<Worker>> workers, bool acts)
      : machine_(machine), workers_(std::move(workers)), acts_(acts) {}
  void start() override;

 private:
  void look();
  void act();
  void end_tmux();
  Machine& machine_;
  std::vector<std::shared_ptr<Worker>> workers_;
  bool acts_;
};

/// A process of the same user that writes what it may not say.
class Forger final : public Peer {
 public:
  explicit Forger(Machine& machine) : machine_(machine), boxes_(machine, Client::v2_1_331) {}
  void start() override;
  void lose_power() override { boxes_.die(); }

 private:
  void forge();
  void put_back();
  Machine& machine_;
  BoxAccess boxes_;
  int count_ = 0;
};

}  // namespace inbox_poller::sim
