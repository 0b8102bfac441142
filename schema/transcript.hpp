// Evidence in the lines of a session's transcript: the client's file of its conversation, one JSON object a line. The
// format is undocumented; this reader knows what 2.1.50 and 2.1.330 were seen to write (docs/adr/0021) and ignores the
// rest. The file is foreign: any line may be anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Returns the visible ASCII characters of a text, by which it is found again. Spaces, line ends and other characters
/// may change on the way.
std::string comparable(std::string_view text);

/// Returns true if the line records a text that was given to the model and contains `wanted` (comparable). Not for
/// lines that record a hook's output, a queued text or a text for a subagent.
bool gives_to_model(std::string_view line, std::string_view wanted);

/// Returns true if the line is an answer of the model, not of a subagent.
bool is_answer(std::string_view line);

/// Evidence of complete lines about the session; the last line counts.
struct TranscriptSigns {
  std::string version;              // of the client: "2.1.330"; empty: unknown
  std::optional<bool> interrupted;  // a person interrupted the turn, and no later line follows
};
TranscriptSigns transcript_signs(std::string_view lines);

}  // namespace inbox_poller::schema
