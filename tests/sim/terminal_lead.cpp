#include "tests/sim/terminal_lead.hpp"

#include <boost/json.hpp>

#include "tests/sim/conversation.hpp"
#include "tests/sim/lead_peers.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

TerminalLead::TerminalLead(Machine& machine, bool gets_payload) : machine_(machine), terminal_(machine.terminal()) {
  machine.rules().configure = [gets_payload, others = machine.rules().configure](config::TeamConfig& config) {
    others(config);
    config.delivery.methods = {config::DeliveryMethod::tmux};
    config.delivery.tmux.pane = Terminal::id;
    config.delivery.tmux.payload = gets_payload;
  };
  terminal_.on_enter = [this] { submitted(); };
  terminal_.on_violation = [this](const std::string& what) { machine_.oracle().violated(what); };
}

void TerminalLead::start() {
  begin();
  look();
}

void TerminalLead::after(Span delay, std::function<void()> step) {
  machine_.talk_after(delay, [this, life = life_, step = std::move(step)] {
    if (life == life_) step();
  });
}

void TerminalLead::begin() {
  machine_.trace("the lead's client begins in its pane");
  terminal_.shows = Terminal::Shows::composer;
  if (is_to_read_) submitted();
}

void TerminalLead::die(const std::string& when) {
  if (terminal_.shows == Terminal::Shows::shell) return;
  machine_.trace("the lead's client dies" + when);
  ++life_;
  terminal_.typed.clear();
  terminal_.shows = Terminal::Shows::shell;
  machine_.hang_up(line_);
  after(machine_.dice().between(seconds(1), seconds(10)), [this] { begin(); });
}

// --- the person ---

void TerminalLead::look() {
  machine_.after(machine_.dice().between(milliseconds(200), seconds(6)), [this] { look(); });
  const bool has_changed = std::exchange(seen_, terminal_.text()) != terminal_.text();
  if (terminal_.shows == Terminal::Shows::dialog) {
    terminal_.shows = Terminal::Shows::composer;
    return;
  }
  if (terminal_.shows != Terminal::Shows::composer) return;
  if (machine_.is_troubled()) return type();
  if (!terminal_.typed.empty() && !has_changed) submitted();
}

void TerminalLead::type() {
  auto& dice = machine_.dice();
  switch (dice.below(12)) {
    case 0:
    case 1: machine_.trace("the person at the pane types"); return terminal_.typed.push_back({"please "});
    case 2:
      if (terminal_.typed.empty()) return;
      machine_.trace("the person at the pane clears the composer");
      return terminal_.typed.clear();
    case 3:
    case 4:
    case 5:
      if (!terminal_.typed.empty()) submitted();
      return;
    case 6: terminal_.shows = Terminal::Shows::dialog; return;
    case 7:
      if (dice.one_in(machine_.peer_dies_one_in())) die("");
      return;
    default: return;
  }
}

// --- the client ---

void TerminalLead::submitted() {
  const auto prompt = terminal_.text();
  machine_.trace("the lead's prompt: " + prompt.substr(0, prompt.find('\n')));
  terminal_.typed.clear();
  terminal_.shows = Terminal::Shows::running;
  ++terminal_.turns;
  model_sees(machine_, prompt);
  is_to_read_ = is_to_read_ || prompt.find("inbox-poller recv") != std::string::npos;
  after(machine_.dice().between(milliseconds(20), seconds(3)), [this] {
    if (machine_.is_troubled() && machine_.dice().one_in(machine_.peer_dies_one_in())) return die(" in a turn");
    is_to_read_ ? read_mail() : end_turn();
  });
}

void TerminalLead::end_turn() { terminal_.shows = Terminal::Shows::composer; }

void TerminalLead::read_mail() {
  const auto is_answered = std::make_shared<bool>(false);
  line_ = machine_.connect();
  machine_.ask(line_, {{"verb", "recv"}, {"team", "t"}, {"ignore_busy", true}},
               [this, is_answered, life = life_](const json::object& answer) {
                 if (life != life_ || !answer.at("ok").as_bool()) return;
                 *is_answered = true;
                 const json::array messages = answer.at("messages").as_array();
                 after(machine_.dice().between(milliseconds(1), milliseconds(300)),
                       [this, messages, block = text_of(answer, "block")] {
                         lead_gets(machine_, messages, block);
                         json::array keys;
                         for (const auto& message : messages) keys.push_back(message.at("message_key"));
                         acknowledge(keys);
                       });
               });
  after(seconds(3), [this, is_answered] {
    if (!*is_answered) read_mail();  // the command has failed, and the model runs it again
  });
}

/// What could not be recorded goes back as the command ends, and comes again with a label.
void TerminalLead::acknowledge(const json::array& keys) {
  is_to_read_ = false;
  if (!keys.empty()) machine_.ask(line_, {{"verb", "ack"}, {"team", "t"}, {"keys", keys}}, [](const json::object&) {});
  after(seconds(1), [this] {
    machine_.hang_up(line_);
    end_turn();
  });
}

}  // namespace inbox_poller::sim
