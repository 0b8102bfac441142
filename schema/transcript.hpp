// What the lines of a session's transcript tell: the file that the client writes beside its conversation, one JSON
// object a line. Its format is the client's own and documented nowhere; read here is what 2.1.50 and 2.1.330 were seen
// to write (docs/adr/0021), and everything else says nothing. The file is foreign: any line may be anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// A text by which it is found again: its visible ASCII characters. Spaces, line ends and what is not ASCII may be
/// changed on the way.
std::string comparable(std::string_view text);

/// True when the line stands for something that was given to the model, and holds a text like `wanted` (comparable).
/// Lines that record what a hook printed, what was put into a queue or what a subagent was told are no such thing.
bool gives_to_model(std::string_view line, std::string_view wanted);

/// True when the line is an answer of the model (not of a subagent's).
bool is_answer(std::string_view line);

/// What complete lines tell of the session; the last line that tells it counts.
struct TranscriptSigns {
  std::string version;              // of the client: "2.1.330"; empty: not told
  std::optional<bool> interrupted;  // a person interrupted the turn, and nothing came after that
};
TranscriptSigns transcript_signs(std::string_view lines);

}  // namespace inbox_poller::schema
