// The half of LeadHost that knows what the lines mean: batches, turns, asks to use a tool.
#include <algorithm>
#include <utility>
#include <variant>

#include "poller/cli/lead_run/host.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller::cli {
namespace {

/// A lead that works says so this often; the daemon's busy limit is counted from the last time.
constexpr std::chrono::seconds work_told_again{5};
constexpr std::string_view from = "inbox-poller";

}  // namespace

bool LeadHost::takes_batches() const { return child_ && child_->input.get() >= 0 && !leaving_ && !under_way_; }

void LeadHost::step_link() {
  link_.step(takes_batches());
  for (const auto& judgement : link_.take_judgements()) answer(judgement);
  if (!takes_batches()) return;
  if (auto batch = link_.take_batch()) deliver(*std::move(batch));
}

// --- messages ---

void LeadHost::deliver(Batch batch) {
  if (options_.lines) {
    for (auto& line : batch.lines) put(std::move(line) + '\n', true);
  } else {
    put(schema::encode_user_line(batch.uuid, from, batch.block) + '\n', true);
  }
  // What it gets during a turn becomes a turn of its own afterwards.
  under_way_ = UnderWay{std::move(batch.keys), std::move(batch.uuid), in_turn_ ? 2 : 1};
}

/// Nothing waits to be written.
void LeadHost::all_written() {
  if (options_.lines && under_way_) {
    link_.acknowledge(under_way_->keys, true);
    under_way_.reset();
    failures_ = 0;
    link_.report("stream_result", session_);
  }
  if (leaving_) child_->input = Fd();
}

/// It says that these lines of its input were taken up: whether ours is among them.
void LeadHost::taken(const std::vector<std::string>& lines) {
  if (!under_way_ || std::find(lines.begin(), lines.end(), under_way_->uuid) == lines.end()) return;
  link_.acknowledge(under_way_->keys, false);
  under_way_.reset();
}

/// Its turn has ended, and it did not say that it took the batch up.
void LeadHost::assume_taken() {
  if (tells_) {
    // It says so otherwise. The turn may have been another one's; if the next one does not say it either, it is lost.
    if (under_way_->turns < 0) give_back();
    return;
  }
  // That other lines are repeated says nothing: no client repeats all of them.
  if (!std::exchange(said_silent_, true)) {
    const auto& argv = options_.argv;
    const bool asked = std::find(argv.begin(), argv.end(), "--replay-user-messages") != argv.end();
    tell_(std::string("the lead does not tell which of our lines it took, so that messages count as taken when a turn "
                      "ends (assumed); ") +
          (asked ? "newer clients tell"
                 : "newer clients tell, others when they are started with --replay-user-messages"));
  }
  link_.acknowledge(under_way_->keys, true);
  under_way_.reset();
}

// --- what it says ---

void LeadHost::take_line(std::string_view line) {
  const auto decoded = schema::decode_stream_line(line);
  if (!decoded.of_lines.empty()) tells_ = true;
  taken(decoded.of_lines);
  std::visit([this](const auto& said) { take(said); }, decoded.said);
}

void LeadHost::take(const schema::StreamInit& init) {
  if (!init.cwd.empty()) cwd_ = init.cwd;
  if (init.session_id == session_) return;
  // It becomes an argument when the lead is started again: never one that is an option.
  if (!schema::is_valid_request_id(init.session_id) || init.session_id.starts_with('-') ||
      init.session_id.find('@') != std::string::npos)
    return;
  session_ = init.session_id;
  // Not a turn yet: some clients say this when they start.
  link_.report(in_turn_ || under_way_ ? "stream_works" : "stream_opens", session_);
}

void LeadHost::take(const schema::StreamWork&) {
  const auto moment = std::chrono::steady_clock::now();
  if (in_turn_ && moment - worked_at_ < work_told_again) return;
  in_turn_ = true;
  worked_at_ = moment;
  link_.report("stream_works", session_);
}

void LeadHost::take(const schema::StreamReplay& replay) {
  if (!under_way_ || replay.uuid != under_way_->uuid) return;
  taken({replay.uuid});
  take(schema::StreamWork{});
}

void LeadHost::take(const schema::StreamCommand& command) {
  tells_ = true;  // also when it is somebody else's line
  if (command.started || command.completed) taken({command.uuid});
  if (command.started) take(schema::StreamWork{});
}

void LeadHost::take(const schema::StreamResult& result) {
  // An error before any work was no turn: a session that cannot be resumed ends like this, whatever it was given.
  const bool turn = std::exchange(in_turn_, false) || !result.failed;
  if (turn) failures_ = 0;
  if (turn && under_way_ && --under_way_->turns <= 0) assume_taken();
  link_.report("stream_result", session_);
}

// --- its tools ---

void LeadHost::take(const schema::ToolAsk& ask) {
  take(schema::StreamWork{});
  link_.judge({run_ + "-" + ask.request_id, ask.tool, ask.input, cwd_});
}

void LeadHost::take(const schema::ToolAskCancelled& cancelled) { link_.withdraw(run_ + "-" + cancelled.request_id); }

void LeadHost::answer(const Judgement& judgement) {
  const auto id = judgement.id.substr(run_.size() + 1);
  put((judgement.allowed ? schema::encode_tool_allowed(id, judgement.input)
                         : schema::encode_tool_denied(id, judgement.reason)) +
          '\n',
      true);
}

}  // namespace inbox_poller::poller::cli
