// The peers of a folder that agents share as small models (docs/reference/mailboxes.md, adr 33 and 35). Their steps are those
// of the public stores, with the windows between two of them.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/maildir_files.hpp"
#include "tests/sim/peers.hpp"

namespace inbox_poller::sim {

class Actor final : public Peer {
 public:
  /// How it takes its mail, and how its own comes into a mailbox.
  enum class Manner {
    takes,    // renames a letter to cur/, and reads it then
    deletes,  // reads a letter, and removes it then
    copies,   // takes; and writes its own letters in place, byte after byte. Other names and ids
  };
  Actor(Machine& machine, std::string name, MaildirFiles& files, Manner manner)
      : machine_(machine), name_(std::move(name)), files_(files), manner_(manner) {}
  void start() override;
  void lose_power() override;

 private:
  void after(Span delay, std::function<void()> step);
  [[nodiscard]] bool dies();
  /// Writes a file to tmp/, and renames it into its place.
  void put(const std::string& path, const std::string& bytes, std::function<void()> done);
  void speak();
  void say(const std::string& type, const boost::json::value& payload, const std::string& id);
  void send(const std::string& bytes, const std::string& id);
  void copy(const std::string& path, const std::string& bytes);
  static void written(Machine& machine, const std::string& bytes);
  void read();
  void take(const std::string& bytes, bool is_repeat_allowed);
  void work();
  void claim(const std::string& file);
  void beat(int beats);
  void complete();
  Machine& machine_;
  std::string name_;
  MaildirFiles& files_;
  Manner manner_;
  int life_ = 0, chats_ = 0;
  bool is_busy_ = false;    // with a letter that it copies
  std::string task_;        // the file that it holds
  struct Sent {
    std::string id, bytes;
  };
  std::vector<Sent> sent_;
  std::map<std::string, Span> taken_;  // ids of letters, with the time
};

/// Another process that reads for the lead, as the public stores do.
class LeadsTaker final : public Peer {
 public:
  LeadsTaker(Machine& machine, MaildirFiles& files) : machine_(machine), files_(files) {}
  void start() override;

 private:
  void read();
  Machine& machine_;
  MaildirFiles& files_;
};

}  // namespace inbox_poller::sim
