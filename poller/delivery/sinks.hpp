// Delivery methods that push a batch of chat to the lead: exec and file. `recv` (pull) is a verb of the control socket.
// Success means that the batch is delivered. After any error the whole batch is offered again, labeled as a possible
// repeat.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "poller/ledger/ledger.hpp"
#include "schema/error.hpp"
#include "schema/roster.hpp"

namespace inbox_poller::poller {

class FileSystem;

/// One chat message in the form for all delivery methods.
struct LeasedMessage {
  long long id = 0;  // in the ledger
  schema::MessageKey key;
  std::string from;
  std::string color;
  std::string summary;
  std::string timestamp;
  std::string type;
  std::string note = {};  // our line before the text: "[not sent: …]"; empty for a message that was sent
  std::string text;       // cut to limits.message
  std::string cut = {};  // our note "[cut: …]"; empty when the text is whole
  EpochMs received_ms = 0;
  int attempts = 1;        // more than one: may be a repeat
  std::string request_id;  // of the approval request that the lead is asked
};

/// Converts a ledger row for delivery. The color comes from the roster, because the sender chose the message's color.
/// The text is cut to limits.message, and one that its worker did not send also as delivery.unsent_reports says.
LeasedMessage outgoing(MessageRow, const schema::Roster&, const config::TeamConfig&);

/// Returns the text with InboxPoller's own lines before and after it, for formats without a place for them.
std::string noted_text(const LeasedMessage&);

/// Formats a message as one line of JSON without a newline: {message_key, from, color, summary, timestamp, type, text,
/// received_ms, attempts}. An approval request adds {request_id}. Notes of InboxPoller begin and end the text. The line
/// is safe for terminals and for readers that know other line separators.
std::string json_line(const LeasedMessage&);

/// Formats the text block for a lead session: one <teammate-message> per message, with a label on possible repeats.
std::string block(const std::vector<LeasedMessage>&);

/// Runs argv (no shell) with the block on its standard input. Success when it exits 0 within the time limit. Error:
/// "sink.exec".
boost::asio::awaitable<Status> deliver_exec(const config::ExecSink&, const std::string& team, std::string input);

/// Appends one JSON line per message to the file and syncs it. An empty line separates batches; readers must skip it.
/// Errors: "io.second_name" and others of the file system.
Status deliver_file(FileSystem&, const std::string& path, const std::vector<LeasedMessage>&);

}  // namespace inbox_poller::poller
