// What the peers of a history saw, and whether it may be: the judge of a simulated world. Knows no product code.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
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
  int number = 0;        // in the order in which this sender wrote
  bool owed = false;     // the daemon has marked it as read
  bool by_rival = false; // another consumer has taken it
  bool written = false;  // its writer knows that the write succeeded
  bool mended = false;   // completed after its writer's death, or written again when it was lost: comes in any order
  Span written_at{};
  std::string machine;   // where it was written
  int seen = 0;          // how often a lead's model saw it
  std::map<std::string, int> unlabeled;  // of these without the label of a repeat, by machine
};

/// One approval request of a worker.
struct Request {
  std::string worker;
  enum class Kind { permission, sandbox, plan } kind = Kind::permission;
  enum class Rule { allows, denies, none } rule = Rule::none;
  bool may_be_ruled = false;  // a rule that a reload or a person adds allows it
  bool verifies = false;      // its worker takes no answer of ours
  bool left = false;          // its worker has left the team
  bool owed = false;
  Span written_at{};
  std::string reply;                // the first reply's text, as it stood
  std::string entry;                // all of the first reply but its flag
  int replies = 0;                  // entries taken by the worker
  int destroyed = 0;                // how often its reader has removed the reply unread
  bool success = false;             // the reply
  std::set<bool> answers;           // by persons; true: approved. Only those that a daemon accepted
  std::map<std::string, bool> answered_at;  // the same by machine
  int unknown_answers[2] = {0, 0};  // denials and approvals whose outcome the person has not learned
};

/// A message of the lead's side to a worker that the daemon has accepted.
struct Order {
  std::string worker;
  std::string machine;  // whose daemon accepted it
  int seen = 0;
  int destroyed = 0;  // how often its reader has removed it unread
  bool accepted = false;
  bool left = false;
};

/// A request of a worker to stop.
struct Wish {
  std::string worker;
  bool owed = false;     // the daemon has marked it as read
  bool left = false;     // its worker has left the team
  bool granted = false;  // by a person, or perhaps
  bool is_met = false;   // its worker was told no, or was asked to end
};

/// A shutdown that a person has asked for.
struct Ending {
  std::string worker;
  bool agreed = false, refused = false;  // as the worker answered
  bool ended = false;                    // and its process has ended
  bool came_again = false;               // the power brought the request back
  Span asked_at{};                       // when the worker took the request
  Span ended_at{};
};

/// What `history` told of one chat message.
struct Recorded {
  std::string text, disposition, delivery;
};

class Oracle {
 public:
  using Tell = std::function<void(const std::string&)>;
  explicit Oracle(Tell trace) : trace_(std::move(trace)) {}

  std::map<std::string, Chat> chat;          // by text
  std::map<std::string, Request> requests;   // by request id
  std::map<std::string, Order> orders;       // by text
  std::map<std::string, Ending> endings;     // by request id
  std::map<std::string, Wish> wishes;        // by request id
  std::map<std::string, Span> process_ended;  // when this worker's process last ended, for whatever reason
  std::map<std::string, Span> forced;         // when a person last ended this worker without asking it
  std::map<std::string, std::set<Span>> ordered;  // when a person ordered that this worker ends
  [[nodiscard]] bool was_forced(const std::string& worker, Span since) const {
    const auto found = forced.find(worker);
    return found != forced.end() && found->second >= since;
  }
  /// A crash, a fault, or a write of a peer that destroys: for a time after it a reply may come again.
  void cause() { last_cause_ = now(); }
  /// A peer or the power may have destroyed entries of the lead's box.
  void destroyed() {
    cause();
    last_destroyed_ = now();
  }
  /// The power failed: what was taken may stand in a box again.
  void lost_power() {
    destroyed();
    last_power_ = now();
    for (auto& [id, wish] : wishes) wish.is_met = true;  // an older roster names another join time of its worker
  }
  [[nodiscard]] bool lost_power_since(Span moment) const { return last_power_ >= moment; }
  /// A rule may have allowed `make`, on one of the machines.
  bool make_may_be_ruled = false;
  /// Set while faults last.
  bool is_upset = false;
  /// True while there are no faults: times are judged.
  bool is_calm = false;
  bool clock_jumped = false;
  /// The team is on several machines. A machine that does not lead any more may have accepted an answer in vain.
  bool has_nodes = false;
  /// The system clock of a sender orders its messages.
  bool orders_by_clock = false;
  /// The lead cannot take chat, or another consumer may have.
  bool has_rival = false;
  [[nodiscard]] bool had_cause_since(Span moment) const {
    return is_upset || last_cause_ + std::chrono::seconds(30) > moment;
  }

  void violated(const std::string& what);
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  /// A chat message is now in the lead's box.
  void written(const std::string& text);
  /// The lead's model on this machine gets a message. `attempts` counts its offers there with this one.
  void lead_sees(const std::string& machine, const std::string& text, long long attempts);
  /// The daemon of this machine has accepted a person's answer.
  void person_answered(const std::string& machine, const std::string& id, bool approves);
  /// True if the bytes of a reply stand in its worker's box.
  std::function<bool(const std::string& worker, const std::string& id)> stands = {};
  /// True if this machine leads.
  std::function<bool(const std::string& machine)> leads = {};
  /// A worker takes a reply out of its inbox, for the first time in these bytes.
  void worker_sees(const std::string& worker, const std::string& id, const boost::json::object& entry, bool success);
  /// A worker takes a message of the lead's side.
  void worker_reads(const std::string& worker, const std::string& text);
  /// A worker reads why its wish is declined. A text that names no wish is one of time.
  void wish_declined(const std::string& worker, const std::string& text);
  /// A worker is asked to end by a shutdown with this reason.
  void wish_granted(const std::string& worker, const std::string& reason);
  /// An entry of the lead's inbox is marked as read.
  void marked(const std::string& text, const std::string& id);
  /// A client has marked an entry of its own box as read that it has not seen.
  void lost_by_client(const std::string& text);
  /// A worker leaves the team: nothing is owed to it any more.
  void left(const std::string& worker);
  void joined(const std::string& worker) { away_.erase(worker); }
  /// A person writes an order on this machine. The worker may have left, and the next one need not get it.
  void order_written(const std::string& text, const std::string& worker, const std::string& machine);
  /// What stood in the lead's box, and may be accepted, is gone with the power or by a peer's write.
  void lost_with_power(const std::string& text, const std::string& id);
  /// A worker has emptied its box of lines that it has not read.
  void destroyed_in_box(const std::string& lines);
  /// Bytes in the lead's box that are no message: they must be kept.
  void expect_set_aside(const std::string& bytes) { set_aside_.insert(bytes); }
  void not_set_aside(const std::string& bytes) { set_aside_.erase(bytes); }
  void judge_quarantine(const boost::json::array& kept);
  /// Whether the daemon learns what becomes of its lines in workers' boxes.
  bool has_proofs = true;
  /// The texts that the lead's box holds when all is quiet.
  void box_holds(const std::set<std::string>& texts);
  /// Judges what the daemon tells when all is quiet: a team of `status`, and the answers to `pending`, `decisions`,
  /// `history` and `shutdowns`.
  void judge_status(const boost::json::object& team, std::size_t open, const std::string& role);
  void judge_pending(const boost::json::array& open);
  void judge_decisions(const boost::json::array& decisions);
  static void read_history(const boost::json::array& messages, std::vector<Recorded>& all);
  void judge_history(const std::vector<Recorded>& all);
  void judge_shutdowns(const boost::json::array& shutdowns);
  /// What is missing now: a violation if it is still missing when all has settled.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  void judge_order(const Chat& one, const std::string& text);
  [[nodiscard]] std::set<std::string> open_requests() const;
  Tell trace_;
  std::vector<std::string> violations_;
  std::set<std::string> set_aside_;
  std::set<std::string> away_;  // workers
  Span last_cause_ = -std::chrono::hours(1);
  Span last_destroyed_ = -std::chrono::hours(1);
  Span last_power_ = -std::chrono::hours(1);
  std::map<std::string, int> written_;    // by sender
  // Number of the chat last seen for the first time, by the lead's machine and the sender. Each lead has its own
  // conversation, and what a former lead was given before the leadership moved may reach its model late.
  std::map<std::pair<std::string, std::string>, int> last_seen_;
};

}  // namespace inbox_poller::sim
