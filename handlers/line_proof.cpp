#include "handlers/line_proof.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace inbox_poller::handlers {

using schema::StreamAnswer;
using schema::StreamCommand;
using schema::StreamReplay;
using schema::StreamResult;

void GivenLine::note(const schema::StreamLine& line) {
  if (std::find(line.of_lines.begin(), line.of_lines.end(), uuid_) != line.of_lines.end()) taken_up_ = true;
  if (const auto* replay = std::get_if<StreamReplay>(&line.said)) (replay->uuid == uuid_ ? taken_up_ : is_others_turn_) = true;
  if (const auto* command = std::get_if<StreamCommand>(&line.said); command != nullptr && command->uuid == uuid_) {
    taken_up_ = taken_up_ || command->started;
    ended_ = command->ended;
  }
}

LineProof GivenLine::hear(const schema::StreamLine& line, bool tells) {
  note(line);
  if (const auto* answer = std::get_if<StreamAnswer>(&line.said)) {
    // A message that the model began earlier belongs to a request without the line.
    const bool is_new = answer->id.empty() || answer->id != last_answer_;
    if (taken_up_ && is_new) return LineProof::proven;
    answered_ = answered_ || is_new;
    last_answer_ = answer->id;
  }
  if (const auto* result = std::get_if<StreamResult>(&line.said)) return end_of_turn(*result, tells);
  return ended_ ? LineProof::unanswered : LineProof::open;
}

LineProof GivenLine::end_of_turn(const StreamResult& result, bool tells) {
  const bool answered = std::exchange(answered_, false) && !result.failed;
  const bool is_others = std::exchange(is_others_turn_, false) || others_turns_ > 0;
  if (taken_up_) return answered ? LineProof::assumed : LineProof::unanswered;
  others_turns_ = std::max(others_turns_ - 1, 0);
  ++passed_;
  // The turn may have been another line's; if the next turn does not name the line either, it is lost.
  if (tells) return passed_ > 1 && !is_others ? LineProof::lost : LineProof::open;
  if (is_others) return LineProof::open;
  return answered ? LineProof::assumed : LineProof::unanswered;
}

}  // namespace inbox_poller::handlers
