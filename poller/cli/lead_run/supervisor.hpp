// Runs the lead as a child process and owns its standard input. The lead's output passes through unchanged. Messages go
// in as whole lines between the lines of this program's input. Turns, accepted lines and tool requests are reported to
// the daemon. One loop, one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/child.hpp"
#include "poller/cli/lead_run/conversation.hpp"
#include "poller/cli/lead_run/line_cutter.hpp"
#include "poller/cli/loop.hpp"
#include "poller/clock.hpp"

namespace inbox_poller::poller::cli {

/// Whole lines that wait to be written to the child.
class ChildInput {
 public:
  void put(std::string line, bool ours);
  /// Removes this program's lines that are not partly written. True if there were any.
  bool drop_ours();
  /// Makes the next child get a partly written line again, from its beginning.
  void begin_again() { front_written_ = 0; }
  enum class Outcome { written, full, refused };
  /// Writes all lines, or as much as the descriptor accepts now.
  Outcome write(int descriptor);

  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Line {
    std::string text;
    bool ours = false;
  };

  std::deque<Line> lines_;
  std::size_t bytes_ = 0;
  std::size_t front_written_ = 0;
};

class LeadSupervisor : private MailReader {
 public:
  LeadSupervisor(LeadRunOptions options, const std::string& socket, std::string team, Tell tell);
  /// Runs the loop until the program ends for good. Returns its exit code, or 128 plus the number of the signal that
  /// ended it. Error "child.start": the first start failed.
  Result<int> run();

 private:
  struct Child {
    Companion process;
    Descriptor heard, fed;

    void close_input() {
      process.input = Fd();
      fed.close();
    }
  };
  /// State of the program's starts and its end.
  struct Life {
    std::vector<std::string> command;
    int failures = 0;  // in a row
    std::optional<SteadyTime> start_at;
    std::optional<SteadyTime> deaf_at;  // when to report that it closed its input
    std::optional<int> exit_code;       // set once it has ended for good
    std::optional<SteadyTime> leave_at;
    bool leaving = false;
    bool said_lost = false;  // reported: the daemon does not serve this lead
    bool said_no_prompts = false;
  };
  struct Input {
    Descriptor ready;
    LineCutter lines;
    bool open = true;
  };
  struct Output {
    Descriptor ready;
    std::string bytes;  // from the child, not yet written
    bool open = true;
    bool mid_line = false;  // the last byte was not a newline
  };

  [[nodiscard]] std::size_t room() const override;
  void attached(const boost::json::object& answer) override;
  void received(const boost::json::object& answer) override;
  bool lost(const Error& why, std::chrono::milliseconds since) override;
  void told(bool all) override;

  Status start();
  /// Runs after each event: does what is possible now, then waits.
  void go_on();
  void wait();
  [[nodiscard]] bool done();
  void start_again();
  void obey(int signal);
  void stop(int signal);
  void read_child(bool at_its_end);
  void reap();
  void ended(int status);
  void fail(int code, const std::string& why);
  void tell_deaf();
  void read_input();
  void pass_on(std::string_view line);
  void write_child();
  void write_output();
  [[nodiscard]] bool takes_batches() const;

  const LeadRunOptions options_;
  const Tell tell_;
  boost::asio::io_context loop_{1};
  boost::asio::steady_timer alarm_;
  MailStream mail_;
  ToolJudge judge_;
  Conversation talk_;
  Signals signals_;
  std::unique_ptr<Child> child_;
  Life life_;
  LineCutter from_child_;
  ChildInput to_child_;
  Input input_;
  Output output_;
  std::optional<Batch> batch_;  // delivered as soon as the program can take it
};

}  // namespace inbox_poller::poller::cli
