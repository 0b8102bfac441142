// The conversation with a stream-json program: one batch of messages at a time, its turns, and its requests to use
// tools. It does no input or output. Invariants:
// A message counts as delivered only when the lead's model answered it, or (without acknowledged lines) when a turn
// with an answer ended. A tool is allowed only by a decision of the daemon.
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
  bool prompts = true;  // as far as known the program requests on its stream before it uses a tool
  bool lines = false;   // the program reads plain lines and does not report its turns
  int restarts = 0;     // at most, in a row
  bool resume = true;
};

/// Reports a line to the person.
using Tell = std::function<void(const std::string& line)>;

/// Messages for the lead, delivered together.
struct Batch {
  std::vector<std::string> keys;
  std::string block;               // text for a lead session
  std::vector<std::string> lines;  // the messages as JSON objects
  std::string uuid;                // from the messages and their attempts
};
/// Builds a batch from an answer to `recv`.
Batch batch_of(const boost::json::object& answer);

class Conversation {
 public:
  /// Queues a line, with its newline, for the program.
  using WriteStatus = std::function<void(std::string line)>;

  Conversation(const LeadRunOptions& options, MailStream& mail, ToolJudge& judge, WriteStatus put, Tell tell)
      : options_(options), mail_(mail), judge_(judge), put_(std::move(put)), tell_(std::move(tell)) {}

  /// Must be called when a program was started, and when it has ended.
  void begins();
  void ends();
  void deliver(Batch batch);
  [[nodiscard]] bool under_way() const { return under_way_.has_value(); }
  /// True while messages wait after a turn without an answer, because an immediate retry would fail in the same way.
  [[nodiscard]] bool rests(SteadyTime now) const { return rests_until_ && now < *rests_until_; }
  /// Returns the next moment at which look() or rests() may act differently; empty if there is none.
  [[nodiscard]] std::optional<SteadyTime> wakes_at() const;
  /// Requeues a batch that the lead skipped without a report.
  void look(SteadyTime now);
  /// Must be called when all queued lines were written.
  void all_written();
  /// Requeues the messages that the program was given.
  void requeue();
  void heard(std::string_view line);
  /// Must be called for each line of the input that is passed to the program.
  void passed_on(std::string_view line);
  void answer(const Judgment&);

  [[nodiscard]] const std::string& session() const { return session_; }
  /// True once after the end of a turn.
  bool take_turn_ended() { return std::exchange(turn_ended_, false); }

 private:
  /// The batch given to the program, until it is known whether its model received it.
  struct UnderWay {
    std::vector<std::string> keys;
    handlers::GivenLine line;
    std::optional<SteadyTime> silent_until;  // then it counts as lost
  };

  void arrived(bool assumed);
  void judge(const schema::StreamLine&);
  void tell_assumed();
  /// Requeues the batch and starts a pause, after a turn without an answer.
  void unanswered();
  void take(const schema::StreamOther&) {}
  void take(const schema::StreamInit&);
  void take(const schema::StreamWork&);
  void take(const schema::StreamAnswer&);
  void take(const schema::StreamReplay&);
  void take(const schema::StreamCommand&);
  void take(const schema::StreamResult&);
  void take(const schema::ToolRequest&);
  void take(const schema::ToolRequestCanceled&);

  const LeadRunOptions& options_;
  MailStream& mail_;
  ToolJudge& judge_;
  const WriteStatus put_;
  const Tell tell_;

  std::string run_;  // id of this start of the program; its request ids repeat after a restart
  std::optional<UnderWay> under_way_;
  bool in_turn_ = false;
  bool opened_ = false;  // this start of the program named its session
  bool turn_ended_ = false;
  bool ended_turn_ = false;  // the last result ended a turn
  std::chrono::steady_clock::time_point worked_at_{};
  bool tells_ = false;  // the program reports each line that it takes up
  std::string last_answer_;
  std::optional<SteadyTime> rests_until_;
  int unanswered_ = 0;  // turns in a row
  bool said_silent_ = false;
  std::string session_, cwd_;
};

}  // namespace inbox_poller::poller::cli
