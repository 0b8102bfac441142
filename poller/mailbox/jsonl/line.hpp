// One line of a JSONL inbox: how the programs that keep their mail so spell a message, in the four generations that are
// in public use. What a line says by its type and fields becomes the neutral message, whose text is the canonical
// payload (schema/payload.hpp); nothing above needs to know of lines. Tolerant reader, strict writer: these programs end, or
// lose what follows, when a line does not parse, and cut lines at every character that Python calls a line's end.
// Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/error.hpp"
#include "schema/message.hpp"

namespace inbox_poller::poller {

/// g1: `.team/inbox/`; g2: records of requests beside it; g3: `.mailboxes/`, fields in `metadata`; g4: the same lines,
/// and answers count only when the process remembers that its own lead gave them.
enum class JsonlGeneration { g1, g2, g3, g4 };

/// What a look at a team's folders found.
struct JsonlFolders {
  bool inbox = false;      // `inbox/` in the team's folder
  bool requests = false;   // `requests/` beside it
  bool task_lock = false;  // `.tasks/.lock`
  bool hex_tasks = false;  // `.tasks/task_<8 hex digits>.json`
};
JsonlGeneration generation_of(const JsonlFolders&);

struct JsonlEntry {
  schema::Message message;
  bool says_all = false;  // the message says everything that the line does
  std::string ignored;    // fields of another type, which count as absent; empty: none
};

/// Reads a line, without its end. A `type`, `id` or time of another type counts as absent. Errors ("line.…") name the field
/// and what was found: the line is bad, its neighbours are not. What nobody may say to a lead here (a request to shut down, kinds of asks that have no answer on this
/// system) is such an error, too. A text that another system would take for a control message is chat here and says so.
Result<JsonlEntry> decode_jsonl(std::string_view line);

/// What a line of ours in a worker's inbox said, without its end: the message whose line it is; empty when it is not one
/// that we would have written so.
std::optional<schema::Message> decode_own_jsonl(std::string_view line);
/// Why the programs that read an inbox end at this line; empty for one that all of them read.
std::string why_readers_end(std::string_view line);
/// As long as this line of ours, and says nothing.
std::string silenced_jsonl(std::string_view line);

/// The line that says this message to a worker of this name, end included: ASCII, one line, keys and numbers as the
/// programs of this generation write them. An error ("line.not_carried") for orders and answers that no line can say.
Result<std::string> encode_jsonl(const schema::Message&, std::string_view to, JsonlGeneration);

}  // namespace inbox_poller::poller
