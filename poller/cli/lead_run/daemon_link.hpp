// The host's side of the daemon: stands at the rung "stdin", takes batches, acknowledges them, tells what the lead
// does, and asks what the rules say about its tools. Nothing here waits: step() does what can be done, and watch()
// names what to wait for. A daemon that goes away is looked for again at most a second apart; what was not told by then
// is told first, so that what the lead has does not come again.
#pragma once

#include <poll.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/clock.hpp"
#include "poller/control/client.hpp"

namespace inbox_poller::poller::cli {

/// Messages for the lead that go together.
struct Batch {
  std::vector<std::string> keys;
  std::string block;               // as a lead session reads them
  std::vector<std::string> lines;  // each as a JSON object
  std::string uuid;                // of these messages at this attempt
};

/// A tool call of the lead's that is to be judged.
struct JudgedCall {
  std::string id;
  std::string tool;
  std::string input;
  std::string cwd;
};

struct Judgement {
  std::string id;
  bool allowed = false;
  std::string input;   // when allowed: what is to run
  std::string reason;  // when not
};

class DaemonLink {
 public:
  using Tell = std::function<void(const std::string& line)>;

  /// `tell` gets what a person should know.
  DaemonLink(std::string socket, std::string team, Tell tell)
      : socket_(std::move(socket)), team_(std::move(team)), tell_(std::move(tell)) {}

  /// What the lead does: an event of the daemon's table. A later one replaces one that was not told yet.
  void report(std::string_view event, const std::string& session);
  /// The lead's prompts for tools will not come: worth a word where they should.
  void expect_no_prompts() { prompts_come_ = false; }
  void acknowledge(const std::vector<std::string>& keys, bool assumed);
  /// What was taken and not acknowledged goes back to the queue.
  void give_back();
  /// The judgement comes when there is one; never, when the lead's prompts are not ours to answer.
  void judge(JudgedCall call);
  /// Nobody waits for it any more.
  void withdraw(const std::string& id) { judging_.erase(id); }
  void withdraw_all() {
    judging_.clear();
    judgements_.clear();
  }

  /// Does what can be done now. Batches are asked for only while they are wanted.
  void step(bool wants_batch);
  /// A batch, once; the next one is asked for when it is taken and what was acknowledged is told.
  std::optional<Batch> take_batch();
  std::vector<Judgement> take_judgements();

  /// Adds what to wait for; returns when step() has something to do by itself.
  SteadyTime watch(std::vector<pollfd>& descriptors) const;
  /// True when nothing is left to be told, or there is nobody to tell. What the lead took is worth waiting for
  /// somebody.
  [[nodiscard]] bool settled() const;

 private:
  enum class Mail { closed, attaching, ready, receiving };
  enum class Side { free, acknowledging, reporting };
  struct Acknowledgement {
    std::vector<std::string> keys;
    bool assumed = false;
  };
  struct Judging {
    JudgedCall call;
    std::optional<ControlClient> client;
    SteadyTime again_at{};
  };

  [[nodiscard]] boost::json::object request(std::string_view verb) const;
  void connect();
  void lose(const std::string& why);
  void read_mail();
  void attached(const boost::json::object& answer);
  void received(const boost::json::object& answer);
  void read_side();
  void write_side();
  void write_mail(bool wants_batch);
  void ask_judge(Judging&);
  void read_judge(Judging&);
  void judged(const JudgedCall& call, const boost::json::object& answer);
  void deny(const std::string& id, std::string reason);

  const std::string socket_;
  const std::string team_;
  const Tell tell_;

  std::optional<ControlClient> mail_;  // stands at the rung; what it was given goes back when it closes
  std::optional<ControlClient> side_;  // for what must not wait behind a waiting recv
  Mail mail_state_ = Mail::closed;
  Side side_state_ = Side::free;
  SteadyTime again_at_{};
  std::chrono::milliseconds pause_{};
  std::optional<SteadyTime> lost_at_;
  bool said_lost_ = false;

  bool permissions_ = false;
  bool prompts_come_ = true;
  bool said_no_prompts_ = false;
  int most_messages_ = 20;
  std::string event_, session_;
  bool told_ = true;  // event_ is
  std::deque<Acknowledgement> acknowledgements_;
  std::optional<Batch> batch_;
  std::map<std::string, Judging> judging_;
  std::vector<Judgement> judgements_;
};

}  // namespace inbox_poller::poller::cli
