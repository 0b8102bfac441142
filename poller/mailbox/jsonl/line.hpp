// One line of a JSONL inbox, in the four generations of the format that are in public use.
// A line's type and fields become the neutral message, whose text is the canonical payload (schema/payload.hpp).
// Code outside of this folder does not handle lines. Invariant: tolerant reader, strict writer. The programs exit, or
// lose the lines after it, if a line does not parse; they cut lines at every character that Python calls a line end.
// Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/error.hpp"
#include "schema/message.hpp"

namespace inbox_poller::poller {

/// The generations of the format. g1: `.team/inbox/`. g2: request records next to the inboxes as well.
/// g3: `.mailboxes/`, with fields in `metadata`. g4: the lines of g3, and a process accepts only answers that it
/// remembers from its own lead.
enum class JsonlGeneration { g1, g2, g3, g4 };

/// The entries of a team's folders that identify the generation.
struct JsonlFolders {
  bool inbox = false;      // `inbox/` in the team's folder
  bool requests = false;   // `requests/` in the team's folder
  bool task_lock = false;  // `.tasks/.lock`
  bool hex_tasks = false;  // `.tasks/task_<8 hex digits>.json`
};
/// Returns the generation that these entries indicate; g3 if there are none.
JsonlGeneration generation_of(const JsonlFolders&);

/// A line that was read.
struct JsonlEntry {
  schema::Message message;
  bool says_all = false;  // the message loses nothing of the line
  std::string ignored;    // names fields of a wrong type, which count as absent; empty: none
};

/// Parses a line without its line end. A `type`, `id` or time of a wrong type counts as absent.
/// A text that another system would take for a control message stays chat; the prefix "message: " marks it.
/// Errors: "line.syntax"; "line.field" (names the field and the value found); "line.direction" for a shutdown request
/// to the lead; "line.type" for requests that cannot be answered on this system. An error concerns this line only.
Result<JsonlEntry> decode_jsonl(std::string_view line);

/// Parses a line of a worker's inbox, without its line end, that may be the daemon's own, such as a shutdown request.
/// Returns empty if the line is neither readable nor a shutdown request.
std::optional<schema::Message> decode_own_jsonl(std::string_view line);
/// Explains why the programs that read an inbox exit at this line; empty for a line that all of them can read.
std::string why_readers_end(std::string_view line);
/// Returns a message without content that is as long as this line of the daemon; the line itself if none fits.
std::string silenced_jsonl(std::string_view line);

/// Encodes the message to the worker `to` as one ASCII line, line end included. Keys and numbers are written as the
/// programs of this generation write them. Errors: "line.not_carried" for orders and answers that no line can express.
Result<std::string> encode_jsonl(const schema::Message&, std::string_view to, JsonlGeneration);

}  // namespace inbox_poller::poller
