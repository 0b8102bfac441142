// The lines that a headless client exchanges on its standard input and output (`--input-format stream-json
// --output-format stream-json`): one JSON object a line. Tolerant reader: a line that is not JSON, or of a kind that
// does not concern us, is StreamOther. Strict writer: one line without its newline. A line of ours never claims to come
// from a human. Source: docs/reference/wire.md W26.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace inbox_poller::schema {

/// The session has an id, with which it can be resumed.
struct StreamInit {
  std::string session_id;
  std::string cwd;  // empty when it does not say
};

/// Part of a turn.
struct StreamWork {};

/// A part of the model's own answer in the session's conversation. A subagent's answer is StreamWork, and so is a text that
/// the client wrote in the model's place (model `<synthetic>`, such as "API Error: …").
struct StreamAnswer {
  std::string id;  // of the model's message; several lines may have one. Empty when missing
};

/// A line of the input that the client took up (`--replay-user-messages`). Clients repeat lines, but not all of them.
struct StreamReplay {
  std::string uuid;  // the one that the line was written with; empty when it had none
};

/// What becomes of a line of the input (command_lifecycle; clients from 2.1.220 on tell it of every line).
struct StreamCommand {
  std::string uuid;
  bool started = false;
  bool ended = false;  // completed or canceled; neither flag: the line waits, or the state is unknown
};

/// A turn has ended, or none could begin.
struct StreamResult {
  bool failed = false;  // is_error, or a subtype other than "success" (2.1.50 sets no is_error for an interrupted turn)
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

using StreamWord = std::variant<StreamOther, StreamInit, StreamWork, StreamAnswer, StreamReplay, StreamCommand,
                                StreamResult, ToolAsk, ToolAskCancelled>;
struct StreamLine {
  StreamWord said;
  std::vector<std::string> of_lines;  // the input lines that this part of a turn answers (user_message_uuids)
};

/// What the client wrote. Total.
StreamLine decode_stream_line(std::string_view line);

/// What a client's command line lacks of the options without which nothing of a stream is known or asked: none when it
/// does not say that it speaks stream-json both ways. `permissions`: its prompts for tools are to come over the stream.
struct MissingOptions {
  std::vector<std::string> options;
  bool behind_dashes = false;     // the command line has a `--`: they belong in front of it
  std::string other_prompt_tool;  // prompts go to this one, and never to us
};
MissingOptions missing_options(const std::vector<std::string>& argv, bool permissions);

/// The id of the control request that this line of the client's input answers; empty when it answers none.
std::string answered_request(std::string_view line);

/// A message for the session. `from` names who wrote it, as a peer.
std::string encode_user_line(std::string_view uuid, std::string_view from, std::string_view content);

/// The answers to a ToolAsk. `input` is JSON and what will be carried out; its bytes stay, but for line ends, which
/// become spaces.
std::string encode_tool_allowed(std::string_view request_id, std::string_view input);
std::string encode_tool_denied(std::string_view request_id, std::string_view message);

}  // namespace inbox_poller::schema
