// What the lines of a stream-json program mean, and what it is owed: one batch of messages at a time, the turns it takes,
// the tools it asks for. Nothing is read or written here. Invariants: a message counts as delivered only when the lead's
// model answered it (or, where the lead names no lines, when a turn with an answer ended); a tool is never allowed but by
// the daemon's word.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/line_proof.hpp"
#include "poller/cli/lead_run/judge.hpp"
#include "poller/cli/mail_stream.hpp"
#include "poller/clock.hpp"
#include "schema/stream_json.hpp"

namespace inbox_poller::poller::cli {

struct LeadRunOptions {
  std::vector<std::string> argv;
  bool prompts = true;  // it asks on its stream whether it may use a tool, as far as can be told
  bool lines = false;   // the program reads plain lines and says nothing of its turns
  int restarts = 0;     // in a row
  bool resume = true;
};

/// What a person should know.
using Tell = std::function<void(const std::string& line)>;

/// Messages for the lead that go together.
struct Batch {
  std::vector<std::string> keys;
  std::string block;               // as a lead session reads them
  std::vector<std::string> lines;  // each as a JSON object
  std::string uuid;                // of these messages at this attempt
};
/// Of an answer to `recv` that has messages.
Batch batch_of(const boost::json::object& answer);

class Conversation {
 public:
  /// Takes a line, with its newline, that is to be written to the program.
  using WriteStatus = std::function<void(std::string line)>;

  Conversation(const LeadRunOptions& options, MailStream& mail, ToolJudge& judge, WriteStatus put, Tell tell)
      : options_(options), mail_(mail), judge_(judge), put_(std::move(put)), tell_(std::move(tell)) {}

  /// A program has been started, or has ended.
  void begins();
  void ends();
  void deliver(Batch batch);
  [[nodiscard]] bool under_way() const { return under_way_.has_value(); }
  /// True while messages wait because the last turn ended without an answer: the next attempt would fail at once as well.
  [[nodiscard]] bool rests(SteadyTime now) const { return rests_until_ && now < *rests_until_; }
  /// When look() or rests() will say something else; nothing to wait for: empty.
  [[nodiscard]] std::optional<SteadyTime> wakes_at() const;
  /// Gives up a batch that the lead passed over and stays silent about.
  void look(SteadyTime now);
  /// Nothing waits to be written.
  void all_written();
  /// What it has of us will not be taken up: it comes again.
  void give_back();
  void heard(std::string_view line);
  /// Somebody else's line goes to it.
  void passed_on(std::string_view line);
  void answer(const Judgement&);

  [[nodiscard]] const std::string& session() const { return session_; }
  /// True once after a turn that ended.
  bool take_turn_ended() { return std::exchange(turn_ended_, false); }

 private:
  /// The batch that was given to the program, until it is known whether its model has it.
  struct UnderWay {
    std::vector<std::string> keys;
    handlers::GivenLine line;
    std::optional<SteadyTime> silent_until;  // then it counts as lost
  };

  void arrived(bool assumed);
  void judge(const schema::StreamLine&);
  void tell_assumed();
  /// Its turn ended without an answer: it comes again after a pause.
  void unanswered();
  void take(const schema::StreamOther&) {}
  void take(const schema::StreamInit&);
  void take(const schema::StreamWork&);
  void take(const schema::StreamAnswer&);
  void take(const schema::StreamReplay&);
  void take(const schema::StreamCommand&);
  void take(const schema::StreamResult&);
  void take(const schema::ToolAsk&);
  void take(const schema::ToolAskCancelled&);

  const LeadRunOptions& options_;
  MailStream& mail_;
  ToolJudge& judge_;
  const WriteStatus put_;
  const Tell tell_;

  std::string run_;  // of this program: keeps apart the ids that each begins anew
  std::optional<UnderWay> under_way_;
  bool in_turn_ = false;
  bool turn_ended_ = false;
  bool ended_turn_ = false;  // the last result did
  std::chrono::steady_clock::time_point worked_at_{};
  bool tells_ = false;  // of every line, when it takes it up
  std::string last_answer_;
  std::optional<SteadyTime> rests_until_;
  int unanswered_ = 0;  // turns in a row
  bool said_silent_ = false;
  std::string session_, cwd_;
};

}  // namespace inbox_poller::poller::cli
