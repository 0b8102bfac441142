// The lines that a headless client exchanges on its standard input and output (`--input-format stream-json
// --output-format stream-json`): one JSON object a line. Tolerant reader: a line that is not JSON, or of a kind that
// does not concern us, is StreamOther. Strict writer: one line without its newline. A line of ours never claims to come
// from a human. Source: integrations.md C4 (client 2.1.240).
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace inbox_poller::schema {

/// The session has an id, with which it can be resumed.
struct StreamInit {
  std::string session_id;
  std::string cwd;  // empty when it does not say
};

/// Part of a turn.
struct StreamWork {};

/// A line of the input that was taken up (`--replay-user-messages`).
struct StreamReplay {
  std::string uuid;  // the one that the line was written with; empty when it had none
};

/// A turn has ended, or none could begin.
struct StreamResult {
  bool failed = false;
};

/// May it use this tool? (control_request, can_use_tool)
struct ToolAsk {
  std::string request_id;
  std::string tool;   // empty when missing or not a string
  std::string input;  // JSON, the bytes as written; empty when missing
};

/// Such an ask is no longer of interest (control_cancel_request).
struct ToolAskCancelled {
  std::string request_id;
};

struct StreamOther {};

using StreamLine =
    std::variant<StreamOther, StreamInit, StreamWork, StreamReplay, StreamResult, ToolAsk, ToolAskCancelled>;

/// What the client wrote. Total.
StreamLine decode_stream_line(std::string_view line);

/// The id of the control request that this line of the client's input answers; empty when it answers none.
std::string answered_request(std::string_view line);

/// A message for the session. `from` names who wrote it, as a peer.
std::string encode_user_line(std::string_view uuid, std::string_view from, std::string_view content);

/// The answers to a ToolAsk. `input` is JSON and what will be carried out; its bytes stay, but for line ends, which
/// become spaces.
std::string encode_tool_allowed(std::string_view request_id, std::string_view input);
std::string encode_tool_denied(std::string_view request_id, std::string_view message);

}  // namespace inbox_poller::schema
