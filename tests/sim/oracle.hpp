// What the peers of a history saw, and whether it may be: the judge of a simulated world. Knows no product code.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/virtual_time.hpp"

namespace inbox_poller::sim {

/// One chat message of a worker; its text is unique in the history.
struct Chat {
  std::string from;
  int number = 0;     // in the order in which this sender wrote
  bool owed = false;  // the daemon has marked it as read
  int seen = 0;       // how often a lead's model saw it
};

/// One permission request of a worker.
struct Request {
  std::string worker;
  enum class Rule { allows, denies, none } rule = Rule::none;
  bool owed = false;
  std::string reply;                // the first reply's text, as it stood
  int replies = 0;                  // entries taken by the worker
  std::set<bool> answers;           // by the person; true: approved. Only those that the daemon accepted
  int unknown_answers[2] = {0, 0};  // denials and approvals whose outcome the person has not learned
};

class Oracle {
 public:
  using Tell = std::function<void(const std::string&)>;
  explicit Oracle(Tell trace) : trace_(std::move(trace)) {}

  std::map<std::string, Chat> chat;  // by text
  std::map<std::string, Request> requests;   // by request id
  /// A crash, a fault, or a write of a peer that destroys: for a time after it a reply may come again.
  void cause() { last_cause_ = now(); }
  /// Set while faults last.
  bool is_upset = false;
  [[nodiscard]] bool had_cause_since(Span moment) const {
    return is_upset || last_cause_ + std::chrono::seconds(10) > moment;
  }

  void violated(const std::string& what);
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  /// A chat message is now in the lead's box.
  void written(const std::string& text);
  /// The lead's model gets a message. `attempts` counts its offers before this one.
  void lead_sees(const std::string& text, long long attempts);
  /// The daemon has accepted a person's answer.
  void person_answered(const std::string& id, bool approves);
  /// A worker takes a reply out of its inbox, for the first time in these bytes.
  void worker_sees(const std::string& worker, const std::string& id, const std::string& text, bool success);
  /// An entry of the lead's inbox is marked as read.
  void marked(const std::string& text, const std::string& id);
  /// What is missing now: a violation if it is still missing when all has settled.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  Tell trace_;
  std::vector<std::string> violations_;
  Span last_cause_ = -std::chrono::hours(1);
  std::map<std::string, int> written_;    // by sender
  std::map<std::string, int> last_seen_;  // by sender: number of the chat last seen for the first time
};

}  // namespace inbox_poller::sim
