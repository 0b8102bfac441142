// What a headless client's output proves of one line that it was given: whether its model has the line. It is not about how
// lines are written or read. Invariant: a line is proven only by an answer of the model after a sign that the client took
// the line up; no state, result or repeat of the line proves it alone. Source: docs/adr/0024.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "schema/names.hpp"
#include "schema/stream_json.hpp"

namespace inbox_poller::handlers {

enum class LineProof {
  open,        // nothing is known yet
  proven,      // the model answered a request that had the line
  assumed,     // a turn that had an answer ended after it was given; the client names no lines
  unanswered,  // its turn ended without an answer: nothing shows that the model had it
  lost,        // the client tells of every line, and told nothing of this one
};
BOOST_DESCRIBE_ENUM(LineProof, open, proven, assumed, unanswered, lost)
inline std::string_view to_string(LineProof proof) { return schema::name_of(proof); }

/// Follows one line of the input, from the moment when it is written to the client.
class GivenLine {
 public:
  /// `uuid`: the line's. `in_turn`: another turn is under way. `last_answer`: the id of the model's message before it.
  GivenLine(std::string uuid, bool in_turn, std::string last_answer)
      : uuid_(std::move(uuid)), last_answer_(std::move(last_answer)), others_turns_(in_turn ? 1 : 0) {}

  /// Takes the client's next line. `tells`: the client has named lines of its input (this one or others) before or now.
  LineProof hear(const schema::StreamLine& line, bool tells);
  /// True when a turn has ended since the line was given, and the line was not part of it. If the client stays silent from
  /// here on, the line is lost: clients put several lines into one turn and name only some of them.
  [[nodiscard]] bool was_passed() const { return passed_ > 0 && !taken_up_; }

 private:
  void note(const schema::StreamLine& line);
  LineProof end_of_turn(const schema::StreamResult& result, bool tells);

  std::string uuid_;
  std::string last_answer_;
  int others_turns_ = 0;        // that end before its own can begin
  int passed_ = 0;              // turns that ended without it
  bool taken_up_ = false;       // the client named it
  bool is_others_turn_ = false;  // a line of somebody else was named in the turn under way
  bool answered_ = false;       // the turn under way has an answer
  bool ended_ = false;          // the client is done with it
};

}  // namespace inbox_poller::handlers
