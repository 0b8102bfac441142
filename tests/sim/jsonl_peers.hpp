// The peers of a team with JSON lines as small models (docs/reference/mailboxes.md, adr 32). Nobody takes a lock: a writer
// opens for appending, writes the line with one call and closes; a reader reads all, closes, opens again to empty the file,
// and loses what came in between.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/jsonl_files.hpp"
#include "tests/sim/peers.hpp"

namespace inbox_poller::sim {

/// The access of one process to the inboxes. An open() waits while the daemon has a lease.
class LineAccess {
 public:
  explicit LineAccess(Machine& machine) : machine_(machine) {}
  /// Appends a line; `done` comes with its write. `alone`: it did not become one with a torn line.
  void append(const std::string& box, const std::string& line, std::function<void(bool alone)> done = {});
  /// Writes the first half of a line, and dies.
  void tear(const std::string& box, const std::string& line);
  /// Reads the inbox and empties it, if it does not do so already; `done` gets what was read. It is not called for a
  /// missing or empty inbox.
  void drain(const std::string& box, std::function<void(const std::string& bytes)> done);
  /// Everything under way ends here; open files are closed.
  void die() {
    ++life_;
    drains_ = false;
  }

 private:
  using Then = std::function<void(Disk::Opened)>;
  void open(const std::string& box, Disk::As how, Then then);
  void after(Span delay, std::function<void()> step);
  bool write(const std::string& box, PeerFile& file, const std::string& bytes);
  Machine& machine_;
  int life_ = 0;
  bool drains_ = false;
};

class LineWorker final : public Peer {
 public:
  LineWorker(Machine& machine, std::string name, JsonlFiles& files)
      : machine_(machine), name_(std::move(name)), files_(files), lines_(machine) {}
  void start() override;
  void lose_power() override { lines_.die(); }
  [[nodiscard]] std::string unsettled() const override { return present_ ? "" : name_ + " is away"; }

 private:
  void speak();
  void read();
  void take(const std::string& line);
  void note_came_again(const std::string& line);
  void say(const std::string& type, const std::string& content, boost::json::object more,
           std::function<void(bool alone)> done = {});
  void send_chat(bool is_torn);
  void send_plan();
  void asked_to_end(const std::string& id);
  void answer_end(const std::string& id, bool agrees);
  void leave();
  Machine& machine_;
  std::string name_;
  JsonlFiles& files_;
  LineAccess lines_;
  bool present_ = true;
  Span left_at_{};
  int chats_ = 0, plans_ = 0;
  std::vector<std::pair<std::string, std::string>> said_;  // plans: id and text
  std::map<std::string, Span> taken_;                      // lines, with the time
  std::set<std::string> repeated_;                         // ids that it asked again: their replies come again
};

/// The program of the team: it writes the roster over, in place, whenever a status changes.
class LineProgram final : public Peer {
 public:
  LineProgram(Machine& machine, JsonlFiles& files) : machine_(machine), files_(files) {}
  void start() override;

 private:
  void write();
  Machine& machine_;
  JsonlFiles& files_;
};

/// A process of the same user that writes what no worker may say, and lines that are none.
class LineForger final : public Peer {
 public:
  explicit LineForger(Machine& machine) : machine_(machine), lines_(machine) {}
  void start() override;
  void lose_power() override { lines_.die(); }

 private:
  void forge();
  Machine& machine_;
  LineAccess lines_;
  int count_ = 0;
};

}  // namespace inbox_poller::sim
