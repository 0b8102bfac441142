#include "tests/sim/hook_lead.hpp"

#include <boost/json.hpp>
#include <utility>

#include "schema/hook_event.hpp"
#include "tests/sim/conversation.hpp"
#include "tests/sim/world.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr const char* folder = "/home/u/.claude/projects/x";
constexpr Span short_patience = milliseconds(35), long_patience = seconds(1), looks_again = seconds(2),
               grace = seconds(10);

json::object spoken(const char* role, json::value content) {
  return {{"type", role}, {"message", json::object{{"role", role}, {"content", std::move(content)}}}};
}

json::object attached(json::object what) { return {{"type", "attachment"}, {"attachment", std::move(what)}}; }

}  // namespace

HookLead::HookLead(Machine& machine, Manner manner, std::shared_ptr<Dice> clears)
    : machine_(machine), manner_(manner), clears_(std::move(clears)) {}

void HookLead::start() {
  machine_.disk().make_folders(folder);
  begin_transcript();
  begin_session("startup");
}

void HookLead::begin_transcript() {
  transcript_ = std::string(folder) + "/" + session_ + ".jsonl";
  machine_.disk().write(transcript_, "");
  machine_.disk().sync_all();
}

void HookLead::after(Span delay, std::function<void()> step) {
  machine_.talk_after(delay, [this, life = life_, step = std::move(step)] {
    if (life == life_) step();
  });
}

bool HookLead::is_upset() const { return machine_.is_troubled() && machine_.profile().peer_dies_one_in > 0; }

bool HookLead::dies() { return machine_.is_troubled() && machine_.dice().one_in(machine_.peer_dies_one_in()); }

void HookLead::lose_power() { die(" with the machine"); }

void HookLead::die(const std::string& when) {
  machine_.trace("the lead's client dies" + when);
  ++life_;
  rests_ = stop_is_active_ = false;
  woken_by_.clear();
  given_.clear();  // a resumed session lacks the last output of its hooks
  after(machine_.dice().between(milliseconds(200), seconds(8)), [this] { begin_session("resume"); });
}

// --- sessions and turns ---

void HookLead::begin_session(const std::string& source) {
  machine_.trace("the lead's session begins: " + source);
  fire("SessionStart", {{"source", source}, {"model", "opus"}}, [this](const std::string& output) {
    add("SessionStart", output);
    manner_ == Manner::headless ? begin_turn("go on " + std::to_string(++prompts_), "") : rest();
  });
}

void HookLead::end_session(const std::string& reason, std::function<void()> then) {
  is_known_ = false;  // until the daemon has heard of the next start
  fire("SessionEnd", {{"reason", reason}}, [this, then = std::move(then)](const std::string&) {
    given_.clear();
    woken_by_.clear();
    then();
  });
}

void HookLead::clear() {
  machine_.trace("a person clears the lead's conversation");
  rests_ = false;
  end_session("clear", [this] {
    session_ = "s" + std::to_string(++sessions_);
    begin_transcript();
    begin_session("clear");
  });
}

void HookLead::look_at_status() {
  machine_.ask(machine_.connect(), {{"verb", "status"}}, [this, life = life_](const json::object& answer) {
    if (life != life_ || !rests_ || !answer.at("ok").as_bool() || answer.at("teams").as_array().empty()) return;
    const auto& lead = answer.at("teams").as_array().at(0).at("lead").as_object();
    is_known_ = is_known_ || text_of(lead, "session") == session_;
    if (text_of(lead, "session") == session_ || sessions_ == 1) return;  // the roster names the first
    machine_.trace("the daemon does not know the lead's session");
    if (is_known_)
      machine_.oracle().violated("the daemon forgot the session of the lead, which had begun: " + session_);
    machine_.ask(machine_.connect(), {{"verb", "lead"}, {"team", "t"}, {"state", "offline"}},
                 [this, life](const json::object& done) {
                   if (life != life_ || !rests_ || !done.at("ok").as_bool()) return;
                   after(seconds(1), [this] {
                     if (rests_) clear();
                   });
                 });
  });
}

void HookLead::rest() {
  rests_ = true;
  if (!woken_by_.empty()) {
    const auto text = woken_by_.front();
    woken_by_.pop_front();
    return begin_turn(
        "<system-reminder>\nStop hook blocking error from command \"Stop\": " + text + "</system-reminder>", text);
  }
  const Span longest = manner_ == Manner::wakes ? seconds(20) : seconds(6);
  if (clears_ && !machine_.is_troubled()) look_at_status();
  after(machine_.dice().between(milliseconds(300), longest), [this, rest = ++rests_so_far_] {
    if (!rests_ || rest != rests_so_far_) return;
    if (dies()) return die("");
    if (clears_ && is_upset() && clears_->one_in(20)) return clear();
    if (is_upset() && machine_.dice().one_in(25)) {
      machine_.trace("the person closes the lead's client");
      rests_ = false;
      return end_session("prompt_input_exit", [this] {
        ++life_;
        after(machine_.dice().between(seconds(1), seconds(10)), [this] { begin_session("resume"); });
      });
    }
    begin_turn("go on " + std::to_string(++prompts_), "");
  });
}

void HookLead::begin_turn(const std::string& prompt, const std::string& woken_by) {
  rests_ = stop_is_active_ = false;
  may_undo_ = manner_ == Manner::wakes;
  undoable_ = 0;
  write(spoken("user", json::string(prompt)));
  if (!woken_by.empty()) give(woken_by);
  fire("UserPromptSubmit", {{"prompt", prompt}}, [this](const std::string& output) {
    add("UserPromptSubmit", output);
    think();
  });
}

void HookLead::think() {
  if (dies()) return die(" before its model is called");
  after(machine_.dice().between(milliseconds(20), milliseconds(1500)), [this] {
    auto& dice = machine_.dice();
    if (is_upset() && dice.one_in(12)) return manner_ == Manner::headless ? die(" while its model works") : escape();
    if (is_upset() && dice.one_in(15)) return fail();
    dice.one_in(3) ? use_tool() : answer();
  });
}

void HookLead::use_tool() {
  see();
  const std::string id = "toolu_" + std::to_string(++tools_);
  write(spoken("assistant", json::array{json::object{{"type", "tool_use"}, {"id", id}, {"name", "Bash"}}}));
  if (dies()) return die(" before its tool");
  const json::object tool{
      {"tool_name", "Bash"}, {"tool_input", json::object{{"command", "make"}}}, {"tool_use_id", id}};
  fire("PreToolUse", tool, [this, tool, id](const std::string&) {
    after(machine_.dice().between(milliseconds(10), seconds(1)), [this, tool, id] {
      write(spoken("user", json::array{json::object{{"type", "tool_result"}, {"tool_use_id", id}, {"content", "ok"}}}));
      fire("PostToolUse", tool, [this](const std::string& output) {
        add("PostToolUse", output);
        think();
      });
    });
  });
}

void HookLead::answer() {
  see();
  write(spoken("assistant", json::array{json::object{{"type", "text"}, {"text", "Done."}}}));
  if (dies()) return die(" before the end of its turn");
  stop();
}

/// The request to the model fails. What the conversation holds, the next request has as well.
void HookLead::fail() {
  machine_.trace("the request to the lead's model fails");
  auto line = spoken("assistant", json::array{json::object{{"type", "text"}, {"text", "API Error: 529"}}});
  line["message"].as_object()["model"] = "<synthetic>";
  write(line);
  const json::object said{{"last_assistant_message", "API Error: 529"}};
  fire(manner_ == Manner::old ? "Stop" : "StopFailure", said, [this](const std::string& output) {
    if (!output.empty()) machine_.oracle().violated("a failed turn was told to go on: " + output);
    end_turn();
  });
}

/// A person interrupts the turn, which no hook tells. Before the first word of the answer, the prompt and what hooks
/// have added to it leave the conversation.
void HookLead::escape() {
  machine_.trace("a person interrupts the lead's turn");
  if (may_undo_)
    given_.resize(given_.size() - undoable_);
  else
    write(spoken("user", json::array{json::object{{"type", "text"}, {"text", "[Request interrupted by user]"}}}));
  end_turn();
}

void HookLead::stop() {
  json::object said{{"last_assistant_message", "Done."}};
  if (stop_is_active_) said["stop_hook_active"] = true;
  fire("Stop", said, [this](const std::string& output) {
    if (output.empty()) return end_turn();
    const auto told = json::parse(output).as_object();
    if (const auto reason = text_of(told, "reason"); !reason.empty()) {
      auto line = spoken("user", json::string("Stop hook feedback:\n" + reason));
      line["isMeta"] = true;
      write(line);
      give(reason);
    }
    if (manner_ == Manner::old && told.contains("hookSpecificOutput")) return end_turn();  // all of it is invalid
    add("Stop", output);
    stop_is_active_ = true;
    think();
  });
}

void HookLead::end_turn() {
  if (manner_ != Manner::headless) return rest();
  end_session("other", [this] {
    ++life_;
    after(machine_.dice().between(milliseconds(300), seconds(6)), [this] { begin_session("resume"); });
  });
}

// --- the conversation ---

void HookLead::give(const std::string& text) {
  given_.push_back(text);
  if (may_undo_) ++undoable_;
}

void HookLead::add(const std::string& event, const std::string& output) {
  if (output.empty()) return;
  const auto told = json::parse(output).as_object();
  if (!told.contains("hookSpecificOutput")) return;
  const auto text = text_of(told.at("hookSpecificOutput").as_object(), "additionalContext");
  if (manner_ != Manner::old) {
    write(attached({{"type", "hook_success"}, {"hookEvent", event}, {"stdout", output}}));
    write(attached(
        {{"type", "hook_additional_context"}, {"content", json::array{json::string(text)}}, {"hookEvent", event}}));
  }
  give(text);
}

void HookLead::see() {
  for (const auto& text : std::exchange(given_, {})) model_sees(machine_, text);
  may_undo_ = false;
}

/// The client writes its transcript a little later than it speaks.
void HookLead::write(json::object line) {
  line["isSidechain"] = false;
  line["sessionId"] = session_;
  line["version"] = manner_ == Manner::old ? "2.1.50" : "2.1.331";
  written_at_ = std::max(written_at_, now() + machine_.dice().between({}, milliseconds(120)));
  machine_.after(written_at_ - now(), [this, life = life_, path = transcript_, bytes = json::serialize(line) + "\n"] {
    if (life != life_) return;
    if (const auto opened = machine_.disk().open(path, Disk::As::append); opened.file) opened.file->append(bytes);
  });
}

// --- hooks ---

json::object HookLead::event(const std::string& name, json::object more) {
  more["hook_event_name"] = name;
  more["session_id"] = session_;
  more["transcript_path"] = transcript_;
  more["cwd"] = machine_.lead_folder();
  return more;
}

json::object HookLead::request(const char* verb, const json::object& event) const {
  const bool is_headless = manner_ == Manner::headless;
  return {{"verb", verb},
          {"event", json::serialize(event)},
          {"mode", is_headless ? "headless" : "interactive"},
          {"client", manner_ == Manner::old ? "" : "2.1.331"},
          {"attended", manner_ != Manner::old}};
}

void HookLead::fire(const std::string& name, json::object more, Then then) {
  const auto what = event(name, std::move(more));
  if (manner_ == Manner::wakes && (name == "SessionStart" || name == "Stop")) wait_beside(what);
  if (machine_.life() == 0) return after(milliseconds(1), [then = std::move(then)] { then(""); });
  const auto line = machine_.connect();
  const auto is_over = std::make_shared<bool>(false);
  const auto goes_on = [this, life = life_, then = std::move(then)](const std::string& output) {
    if (life == life_) then(output);
  };
  machine_.ask(line, request("hook", what), [this, line, is_over, goes_on, life = life_](const json::object& answer) {
    if (std::exchange(*is_over, true)) return;
    const auto output = text_of(answer, "output");
    if (output.empty() || life != life_)
      return machine_.talk_after({}, [this, line, goes_on] {
        machine_.hang_up(line);  // with something to print, to a client that is gone
        goes_on("");
      });
    machine_.talk_after(milliseconds(1), [this, line, goes_on, output, life] {
      if (life == life_ && dies()) {
        machine_.hang_up(line);
        return die(" as a hook prints");
      }
      if (life != life_) return machine_.hang_up(line);
      tell(line, true);
      goes_on(output);
    });
  });
  const auto patience = schema::may_be_slow(name) ? long_patience : short_patience;
  machine_.talk_after(patience, [this, line, is_over, goes_on] {
    if (std::exchange(*is_over, true)) return;
    machine_.trace("the time of a hook is over");
    tell(line, false);
    goes_on("");
  });
}

void HookLead::wait_beside(const json::object& event) {
  if (machine_.life() == 0) return;
  const auto line = machine_.connect();
  auto attach = request("attach", event);
  attach["method"] = "hook";
  machine_.ask(line, attach, [this, line, life = life_](const json::object& answer) {
    if (answer.at("ok").as_bool()) return poll({line, life, now(), false});
    machine_.talk_after({}, [this, line] { machine_.hang_up(line); });
  });
}

/// A waiting hook looks every two seconds whether its client lives.
void HookLead::poll(const Waiting& hook) {
  machine_.ask(hook.line, {{"verb", "recv"}, {"wait_ms", looks_again / milliseconds(1)}},
               [this, hook](const json::object& answer) {
                 machine_.talk_after(milliseconds(1), [this, hook, answer] { go_on_waiting(hook, answer); });
               });
}

void HookLead::go_on_waiting(Waiting hook, const json::object& answer) {
  if (!answer.at("ok").as_bool()) return machine_.hang_up(hook.line);
  if (!answer.at("messages").as_array().empty()) {
    const auto text = schema::handed_over(text_of(answer, "block"));
    if (hook.client != life_ || text.size() > schema::longest_hook_text) return machine_.hang_up(hook.line);
    tell(hook.line, true);
    woken_by_.push_back(text);
    if (dies()) return die(" as a waiting hook ends");
    if (rests_) rest();
    return;
  }
  const bool is_gone = text_of(answer, "lead_state") == "offline";
  hook.lead_was_there = hook.lead_was_there || !is_gone;
  const bool ends = is_gone && (hook.lead_was_there || now() - hook.began > grace);
  if (hook.client != life_ || ends) return machine_.hang_up(hook.line);
  poll(hook);
}

/// Tells the daemon whether the hook printed the messages, and ends the hook.
void HookLead::tell(const std::shared_ptr<Machine::Line>& line, bool printed) {
  machine_.ask(line, {{"verb", "shown"}, {"printed", printed}}, [](const json::object&) {});
  machine_.talk_after(milliseconds(1), [this, line] { machine_.hang_up(line); });
}

}  // namespace inbox_poller::sim
