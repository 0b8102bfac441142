// Models of a lead whose client has our hooks: the client with its conversation and its transcript, the hooks that it
// starts, and the person at it. Facts: docs/adr/0021, docs/reference/hooks.md.
#pragma once

#include <boost/json/object.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/machine.hpp"
#include "tests/sim/peers.hpp"

namespace inbox_poller::sim {

class HookLead final : public Peer {
 public:
  enum class Manner {
    wakes,     // client 2.1.331: a waiting hook wakes it, and its transcript has all that the model gets
    old,       // client 2.1.50: nothing wakes it, and its transcript lacks what hooks add
    headless,  // client 2.1.331 with `-p`: a program starts it for each prompt
  };
  /// `clears`: when a person types `/clear`; null: never.
  HookLead(Machine& machine, Manner manner, std::shared_ptr<Dice> clears);
  void start() override;
  void lose_power() override;

 private:
  using Then = std::function<void(const std::string& output)>;
  void after(Span delay, std::function<void()> step);
  [[nodiscard]] bool dies();
  /// True if the person and the model cause trouble.
  [[nodiscard]] bool is_upset() const;
  /// Its client is killed, with its hooks.
  void die(const std::string& when);
  void begin_transcript();
  void begin_session(const std::string& source);
  void end_session(const std::string& reason, std::function<void()> then);
  /// A person types `/clear`: the conversation is empty, and the session has another id.
  void clear();
  /// A person looks whether the daemon knows the session, and makes it the lead's if it does not.
  void look_at_status();
  /// Waits for the next prompt, by a person or by a hook that woke it.
  void rest();
  void begin_turn(const std::string& prompt, const std::string& woken_by);
  /// The model is called, and something comes of it.
  void think();
  void use_tool();
  void answer();
  void fail();
  void escape();
  void stop();
  void end_turn();
  /// The model has answered with all that its conversation holds.
  void see();
  /// What hooks of this event add to the conversation.
  void add(const std::string& event, const std::string& output);
  void give(const std::string& text);

  boost::json::object event(const std::string& name, boost::json::object more);
  boost::json::object request(const char* verb, const boost::json::object& event) const;
  /// Runs the hook of an event, and waits for it.
  void fire(const std::string& name, boost::json::object more, Then then);
  /// Starts the hook that waits beside the session.
  void wait_beside(const boost::json::object& event);
  /// A hook that waits beside the session.
  struct Waiting {
    std::shared_ptr<Machine::Line> line;
    int client;  // the life of the client that started it
    Span began;
    bool lead_was_there;
  };
  void poll(const Waiting& hook);
  void go_on_waiting(Waiting hook, const boost::json::object& answer);
  void tell(const std::shared_ptr<Machine::Line>& line, bool printed);
  void write(boost::json::object line);

  Machine& machine_;
  const Manner manner_;
  std::shared_ptr<Dice> clears_;
  std::string session_ = "s", transcript_;
  int sessions_ = 1;
  bool is_known_ = true;  // `status` has named this session
  int life_ = 0;  // of the client; a step of a former one does nothing
  bool rests_ = false, stop_is_active_ = false;
  bool may_undo_ = false;  // Escape takes the prompt back, and what hooks have added to it
  int rests_so_far_ = 0;
  int prompts_ = 0, tools_ = 0;
  Span written_at_{};                 // of the last line of the transcript
  std::deque<std::string> woken_by_;  // texts of waiting hooks that have ended
  std::vector<std::string> given_;    // in the conversation, without an answer after them
  std::size_t undoable_ = 0;          // of these, the last ones, which Escape takes back
};

}  // namespace inbox_poller::sim
