// Runs the lead as a child and owns its standard input: its output goes through byte for byte, messages go in as lines
// of their own between the lines that come in from our own input, and what its stream tells (turns, taken lines, asks
// to use a tool) goes to the daemon. One loop around poll(2), one thread. Invariants: a message counts as delivered
// only when the lead took it up (or, where it cannot say so, when its turn ended); one batch is under way at a time; an
// ask to use a tool is never allowed but by the daemon's word.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/child.hpp"
#include "poller/cli/lead_run/daemon_link.hpp"
#include "poller/cli/lead_run/line_cutter.hpp"
#include "poller/cli/lead_run/signals.hpp"
#include "schema/stream_json.hpp"

namespace inbox_poller::poller::cli {

struct LeadRunOptions {
  std::vector<std::string> argv;
  bool prompts = true;  // it asks on its stream whether it may use a tool, as far as can be told
  bool lines = false;  // the program reads plain lines and says nothing of its turns
  int restarts = 0;    // in a row
  bool resume = true;
};

class LeadHost {
 public:
  LeadHost(LeadRunOptions options, std::string socket, std::string team, DaemonLink::Tell tell);
  /// Returns the exit code: the program's, or 128 and the number of the signal that ended it. Error ("child.start"): it
  /// could not be started at all.
  Result<int> run();

 private:
  /// What waits to be written to the child; whole lines.
  struct Line {
    std::string text;
    bool ours = false;
  };
  /// The batch that was given to the child and that it has not taken up yet.
  struct UnderWay {
    std::vector<std::string> keys;
    std::string uuid;
    int turns = 1;  // that end until its own has ended
  };

  Status start();
  /// When that is due.
  void start_again();
  void wait();
  void take_signals();
  void stop(int signal);
  void read_child(bool at_its_end);
  void reap();
  void ended(int status);
  void fail(int code, const std::string& why);
  void tell_deaf();
  void read_input();
  void pass_on(std::string_view line);
  void step_link();
  void write_child();
  void write_output();
  [[nodiscard]] bool done();

  void deliver(Batch batch);
  void all_written();
  void taken(const std::vector<std::string>& lines);
  void assume_taken();
  void take_line(std::string_view line);
  void take(const schema::StreamOther&) {}
  void take(const schema::StreamInit&);
  void take(const schema::StreamWork&);
  void take(const schema::StreamReplay&);
  void take(const schema::StreamCommand&);
  void take(const schema::StreamResult&);
  void take(const schema::ToolAsk&);
  void take(const schema::ToolAskCancelled&);
  void answer(const Judgement&);
  void put(std::string line, bool ours);
  bool drop_ours();
  void give_back();
  [[nodiscard]] bool takes_batches() const;

  const LeadRunOptions options_;
  const DaemonLink::Tell tell_;
  Signals signals_;
  DaemonLink link_;

  std::optional<Companion> child_;
  std::vector<std::string> command_;
  std::string run_;  // of this child: keeps apart the ids that each begins anew
  int runs_ = 0;
  int failures_ = 0;  // in a row
  std::optional<SteadyTime> start_at_;
  std::optional<SteadyTime> deaf_at_;  // when it is worth saying that it closed its input
  std::optional<int> exit_code_;       // set when it has ended for good
  std::optional<SteadyTime> leave_at_;
  bool leaving_ = false;

  LineCutter from_child_;
  LineCutter from_input_;
  bool input_open_ = true;
  std::deque<Line> to_child_;
  std::size_t to_child_bytes_ = 0;
  std::size_t front_written_ = 0;
  std::string output_;  // from the child, not yet written to our output
  bool output_open_ = true;
  bool mid_line_ = false;  // the output does not end with a newline

  std::optional<UnderWay> under_way_;
  bool in_turn_ = false;
  SteadyTime worked_at_{};
  bool tells_ = false;  // of every line, when it takes it up
  bool said_silent_ = false;
  std::string session_, cwd_;
};

}  // namespace inbox_poller::poller::cli
