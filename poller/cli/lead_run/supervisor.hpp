// Runs the lead as a child and owns its standard input: its output goes through byte for byte, messages go in as lines
// of their own between the lines that come in from our own input, and what its stream tells (turns, taken lines, asks
// to use a tool) goes to the daemon. One loop, one thread.
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

/// What waits to be written to the child; whole lines.
class Feed {
 public:
  void put(std::string line, bool ours);
  /// Takes back what it has not begun to get from us; true when there was something.
  bool drop_ours();
  /// The next one gets a line of somebody else's whole.
  void begin_again() { front_written_ = 0; }
  enum class Outcome { written, full, refused };
  /// All of it, or as much as is taken now.
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
  /// Returns the exit code: the program's, or 128 and the number of the signal that ended it. Error ("child.start"): it
  /// could not be started at all.
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
  /// Of the program: its starts and its end.
  struct Life {
    std::vector<std::string> command;
    int failures = 0;  // in a row
    std::optional<SteadyTime> start_at;
    std::optional<SteadyTime> deaf_at;  // when it is worth saying that it closed its input
    std::optional<int> exit_code;       // set when it has ended for good
    std::optional<SteadyTime> leave_at;
    bool leaving = false;
    bool said_lost = false;  // that the daemon does not serve us
    bool said_no_prompts = false;
  };
  struct Input {
    Descriptor ready;
    LineCutter lines;
    bool open = true;
  };
  struct Output {
    Descriptor ready;
    std::string bytes;  // from the child, not yet written to ours
    bool open = true;
    bool mid_line = false;  // it does not end with a newline
  };

  [[nodiscard]] std::size_t room() const override;
  void attached(const boost::json::object& answer) override;
  void received(const boost::json::object& answer) override;
  bool lost(const Error& why, std::chrono::milliseconds since) override;
  void told(bool all) override;

  Status start();
  /// After whatever has happened: does what can be done now, and waits for the rest.
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
  Feed to_child_;
  Input input_;
  Output output_;
  std::optional<Batch> batch_;  // for the next moment that it takes one
};

}  // namespace inbox_poller::poller::cli
