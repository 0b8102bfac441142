// The lines of a headless client's standard input and output (`--input-format stream-json --output-format
// stream-json`): one JSON object a line. Tolerant reader: a line that is not JSON, or of another kind, is StreamOther.
// Strict writer: one line without its newline, which never claims to come from a human. Source: docs/reference/wire.md
// W26.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace inbox_poller::schema {

/// The id of the session, with which the session can be resumed.
struct StreamInit {
  std::string session_id;
  std::string cwd;  // empty if absent
};

/// Part of a turn.
struct StreamWork {};

/// A part of the model's own answer in the session's conversation. Not a subagent's answer, and not a text of the
/// client in the model's place (model `<synthetic>`, such as "API Error: …"); both are StreamWork.
struct StreamAnswer {
  std::string id;  // of the model's message; several lines may share it. Empty if missing
};

/// An input line that the client took up (`--replay-user-messages`). Clients repeat only some lines.
struct StreamReplay {
  std::string uuid;  // the line's own; empty if it had none
};

/// The state of an input line (command_lifecycle; clients from 2.1.220 on report every line).
struct StreamCommand {
  std::string uuid;
  bool started = false;
  bool ended = false;  // completed or canceled; neither flag: the line waits, or its state is unknown
};

/// The end of a turn, or a turn that could not begin.
struct StreamResult {
  bool failed = false;  // is_error, or a subtype other than "success" (2.1.50 sets no is_error for an interrupted turn)
};

/// A request to use a tool (control_request, can_use_tool).
struct ToolRequest {
  std::string request_id;
  std::string tool;   // empty if missing or not a string
  std::string input;  // JSON, the bytes as written; empty if missing
};

/// The withdrawal of such a request (control_cancel_request).
struct ToolRequestCanceled {
  std::string request_id;
};

struct StreamOther {};

using StreamWord = std::variant<StreamOther, StreamInit, StreamWork, StreamAnswer, StreamReplay, StreamCommand,
                                StreamResult, ToolRequest, ToolRequestCanceled>;
struct StreamLine {
  StreamWord said;
  std::vector<std::string> of_lines;  // the input lines that this part of a turn answers (user_message_uuids)
};

/// Decodes one line of the client. Total.
StreamLine decode_stream_line(std::string_view line);

/// The options that a client's command line lacks for a useful stream. Empty if the command line does not have
/// stream-json both ways. `permissions`: prompts for tools must come over the stream.
struct MissingOptions {
  std::vector<std::string> options;
  bool behind_dashes = false;     // the command line has a `--`, before which they belong
  std::string other_prompt_tool;  // prompts go to this tool, and never to InboxPoller
};
MissingOptions missing_options(const std::vector<std::string>& argv, bool permissions);

/// Returns the id of the control request that this input line answers; empty if it answers none.
std::string answered_request(std::string_view line);

/// Returns a message for the session. `from`: the sender's name, as a peer.
std::string encode_user_line(std::string_view uuid, std::string_view from, std::string_view content);

/// Return the answers to a ToolRequest. `input`: JSON, which will run; its bytes stay, except that line ends become
/// spaces.
std::string encode_tool_allowed(std::string_view request_id, std::string_view input);
std::string encode_tool_denied(std::string_view request_id, std::string_view message);

}  // namespace inbox_poller::schema
