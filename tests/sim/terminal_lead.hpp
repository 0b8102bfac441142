// Model of a lead without hooks in a terminal pane, with the person at the keyboard (docs/adr/0023). The daemon pastes
// the messages themselves, or a line that says how to get them.
#pragma once

#include <functional>
#include <memory>

#include "tests/sim/machine.hpp"
#include "tests/sim/peers.hpp"

namespace inbox_poller::sim {

class TerminalLead final : public Peer {
 public:
  /// `gets_payload`: the messages themselves are pasted.
  TerminalLead(Machine& machine, bool gets_payload);
  void start() override;
  void lose_power() override { die(" with the power"); }

 private:
  void after(Span delay, std::function<void()> step);
  void begin();
  void die(const std::string& when);
  /// The person looks at the screen, and now and then types.
  void look();
  void type();
  /// Enter was pressed. What the prompt holds is in the conversation from now on, also after the client's death.
  void submitted();
  void end_turn();
  /// The model runs the command that the pasted line names.
  void read_mail();
  void acknowledge(const boost::json::array& keys);
  Machine& machine_;
  Terminal& terminal_;
  int life_ = 0;             // of the client; a step of a former one does nothing
  bool is_to_read_ = false;  // the conversation holds the pasted line, and no answer to it
  std::shared_ptr<Machine::Line> line_;
  std::string seen_;  // the composer's text when the person last looked
};

}  // namespace inbox_poller::sim
