#include "poller/cli/lead_run/conversation.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>
#include <variant>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/clock.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller::cli {
namespace {

/// Interval of reports from a working lead. The daemon counts its busy limit from the last one.
constexpr std::chrono::seconds work_told_again{5};
constexpr std::string_view from = "inbox-poller";
/// Pause after a turn without an answer; doubled after each further one.
constexpr std::chrono::seconds first_rest{1};
constexpr std::chrono::seconds longest_rest{60};
constexpr int most_doublings = 6;
/// Time limit for a skipped line: a lead that combines lines into one turn may name only some of them.
constexpr std::chrono::seconds silence_is_loss{30};

}  // namespace

// --- Messages

Batch batch_of(const boost::json::object& answer) {
  Batch batch;
  batch.block = raw_text_of(answer, "block");
  std::string seed;
  for (const auto* message : objects_of(answer, "messages")) {
    batch.keys.push_back(raw_text_of(*message, "message_key"));
    batch.lines.push_back(printable_json(boost::json::serialize(*message)));
    seed += batch.keys.back() + " " + std::to_string(number_of(*message, "attempts")) + "\n";
  }
  batch.uuid = schema::uuid_from(seed);
  return batch;
}

void Conversation::begins() {
  static int runs = 0;
  run_ = schema::uuid_from(std::to_string(::getpid()) + " " + std::to_string(++runs) + " " +
                           std::to_string(SystemClock().wall_ms()))
             .substr(0, 8);
  in_turn_ = false;
  opened_ = false;
  last_answer_.clear();
  rests_until_.reset();
  mail_.report("stream_opens", session_);
}

void Conversation::ends() {
  judge_.withdraw_all();
  if (under_way_) requeue();  // the program may have read them; the next delivery is labeled as repeated
  mail_.report("stream_closes", session_);
}

void Conversation::deliver(Batch batch) {
  if (options_.lines) {
    for (auto& line : batch.lines) put_(std::move(line) + '\n');
  } else {
    put_(schema::encode_user_line(batch.uuid, from, batch.block) + '\n');
  }
  under_way_ = UnderWay{std::move(batch.keys), {std::move(batch.uuid), in_turn_, last_answer_}, {}};
}

void Conversation::all_written() {
  if (!options_.lines || !under_way_) return;
  arrived(true);
  turn_ended_ = true;
  mail_.report("stream_result", session_);
}

void Conversation::requeue() {
  under_way_.reset();
  mail_.requeue();
}

void Conversation::arrived(bool assumed) {
  mail_.acknowledge(std::move(under_way_->keys), assumed);
  under_way_.reset();
}

void Conversation::passed_on(std::string_view line) {
  // The first answer wins; a decision would be the second.
  if (options_.lines) return;
  if (const auto id = schema::answered_request(line); !id.empty()) judge_.withdraw(run_ + "-" + id);
}

std::optional<SteadyTime> Conversation::wakes_at() const {
  if (under_way_) return under_way_->silent_until;
  return rests_until_;
}

void Conversation::look(SteadyTime now) {
  if (under_way_ && under_way_->silent_until && *under_way_->silent_until <= now) requeue();
}

void Conversation::judge(const schema::StreamLine& line) {
  using handlers::LineProof;
  if (!under_way_) return;
  const auto proof = under_way_->line.hear(line, tells_);
  under_way_->silent_until.reset();
  if (under_way_->line.was_passed() && !in_turn_) under_way_->silent_until = std::chrono::steady_clock::now() + silence_is_loss;
  switch (proof) {
    case LineProof::open: return;
    case LineProof::proven: return arrived(false);
    case LineProof::assumed: tell_assumed(); return arrived(true);
    case LineProof::unanswered: return unanswered();
    case LineProof::lost: return requeue();
  }
}

void Conversation::unanswered() {
  const auto rest = std::min(first_rest * (1 << std::min(unanswered_, most_doublings)), longest_rest);
  rests_until_ = std::chrono::steady_clock::now() + rest;
  if (unanswered_++ == 0)
    tell_("the lead's turn ended without an answer of its model: its messages come again, at first after " +
          std::to_string(rest.count()) + " s, later after " + std::to_string(longest_rest.count()) +
          " s; its output says why the turn failed");
  requeue();
}

void Conversation::tell_assumed() {
  if (tells_ || std::exchange(said_silent_, true)) return;
  const auto& argv = options_.argv;
  const bool asked = std::find(argv.begin(), argv.end(), "--replay-user-messages") != argv.end();
  tell_(std::string("the lead does not tell which of our lines it took, so that messages count as taken when a turn with "
                    "an answer ends (assumed); ") +
        (asked ? "newer clients tell" : "newer clients tell, others when they are started with --replay-user-messages"));
}

// --- The program's output

void Conversation::heard(std::string_view line) {
  const auto decoded = schema::decode_stream_line(line);
  if (!decoded.of_lines.empty()) tells_ = true;
  std::visit([this](const auto& said) { take(said); }, decoded.said);
  const auto* result = std::get_if<schema::StreamResult>(&decoded.said);
  if (result == nullptr || ended_turn_) judge(decoded);
  if (result != nullptr) mail_.report("stream_result", session_);
}

void Conversation::take(const schema::StreamInit& init) {
  opened_ = true;
  if (!init.cwd.empty()) cwd_ = init.cwd;
  if (init.session_id == session_) return;
  // The session becomes an argument at the next start, so it must not look like an option.
  if (!schema::is_valid_request_id(init.session_id) || init.session_id.starts_with('-') ||
      init.session_id.find('@') != std::string::npos)
    return;
  session_ = init.session_id;
  // Not yet a turn: some clients send this line at their start.
  mail_.report(in_turn_ || under_way_ ? "stream_works" : "stream_opens", session_);
}

void Conversation::take(const schema::StreamWork&) {
  const auto moment = std::chrono::steady_clock::now();
  if (in_turn_ && moment - worked_at_ < work_told_again) return;
  in_turn_ = true;
  worked_at_ = moment;
  mail_.report("stream_works", session_);
}

void Conversation::take(const schema::StreamAnswer& answer) {
  last_answer_ = answer.id;
  unanswered_ = 0;
  take(schema::StreamWork{});
}

void Conversation::take(const schema::StreamReplay&) { take(schema::StreamWork{}); }

void Conversation::take(const schema::StreamCommand& command) {
  tells_ = true;  // also for a line of the input
  if (command.started) take(schema::StreamWork{});
}

void Conversation::take(const schema::StreamResult& result) {
  // An error before any work ends no turn. A client that finds no conversation of the session to resume ends like this
  // with any input: it was killed before it had stored one.
  if (options_.resume && result.failed && !opened_ && !in_turn_ && !session_.empty())
    tell_("the lead cannot resume session " + std::exchange(session_, {}) + ": the next start begins a new one");
  ended_turn_ = std::exchange(in_turn_, false) || !result.failed;
  turn_ended_ = turn_ended_ || ended_turn_;
}

// --- Tools

void Conversation::take(const schema::ToolRequest& request) {
  take(schema::StreamWork{});
  judge_.judge({run_ + "-" + request.request_id, request.tool, request.input, cwd_});
}

void Conversation::take(const schema::ToolRequestCanceled& canceled) { judge_.withdraw(run_ + "-" + canceled.request_id); }

void Conversation::answer(const Judgment& judgment) {
  const auto id = judgment.id.substr(run_.size() + 1);
  put_((judgment.allowed ? schema::encode_tool_allowed(id, judgment.input)
                         : schema::encode_tool_denied(id, judgment.reason)) +
       '\n');
}

}  // namespace inbox_poller::poller::cli
