// Whether a headless client's output proves that its model has one input line. Not for the format of lines. Invariant:
// only an answer of the model, after a sign that the client took up the line, proves the line. Source: docs/adr/0024.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "schema/names.hpp"
#include "schema/stream_json.hpp"

namespace inbox_poller::handlers {

enum class LineProof {
  open,        // no evidence yet
  proven,      // the model answered a request that had the line
  assumed,     // a turn with an answer ended after it was given; no answer followed a sign of the line
  unanswered,  // its turn ended without an answer
  lost,        // the client names its lines, but not this one
};
BOOST_DESCRIBE_ENUM(LineProof, open, proven, assumed, unanswered, lost)
inline std::string_view to_string(LineProof proof) { return schema::name_of(proof); }

/// Follows one input line from the time when it is written to the client.
class GivenLine {
 public:
  /// `uuid`: the line's id. `in_turn`: another turn is running. `last_answer`: id of the model's last message before
  /// the line.
  GivenLine(std::string uuid, bool in_turn, std::string last_answer)
      : uuid_(std::move(uuid)), last_answer_(std::move(last_answer)), others_turns_(in_turn ? 1 : 0) {}

  /// Evaluates the client's next line. `tells`: the client has named lines of its input (this one or others).
  LineProof hear(const schema::StreamLine& line, bool tells);
  /// Returns true if a turn ended without the line since the line was given. If the client then stays silent, the line
  /// is lost: clients put several lines into one turn and name only some of them.
  [[nodiscard]] bool was_passed() const { return passed_ > 0 && !taken_up_; }

 private:
  void note(const schema::StreamLine& line);
  LineProof end_of_turn(const schema::StreamResult& result, bool tells);

  std::string uuid_;
  std::string last_answer_;
  int others_turns_ = 0;        // turns that end before the line's own can begin
  int passed_ = 0;              // turns that ended without the line
  bool taken_up_ = false;       // named by the client
  bool is_others_turn_ = false;  // another line was named in the running turn
  bool answered_ = false;       // the running turn has an answer
  bool ended_ = false;          // the client has finished it
};

}  // namespace inbox_poller::handlers
