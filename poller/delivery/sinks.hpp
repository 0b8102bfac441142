// Sinks: the ways to push a batch of chat to the lead without being asked. `recv` (pull) is a verb of the control
// socket. A sink that reports success has the batch; anything else means that the whole batch is offered again,
// labelled.
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

/// One chat message in the form in which every sink hands it over.
struct Offered {
  long long id = 0;  // the ledger's
  schema::MessageKey key;
  std::string from;
  std::string color;
  std::string summary;
  std::string timestamp;
  std::string type;
  std::string text;      // cut to limits.message
  std::string cut = {};  // our line about it: "[cut: …]"; empty when the text is whole
  EpochMs received_ms = 0;
  int attempts = 1;        // more than one: may be a repeat
  std::string request_id;  // of an ask that is put before the lead
};

/// Reads a ledger row back into what is delivered. The colour is the roster's; the envelope's is what the sender
/// claims.
Offered outgoing(MessageRow, const schema::Roster&, config::Bytes limit);

/// One JSON object, one line, no newline at the end: {message_key, from, color, summary, timestamp, type, text,
/// received_ms, attempts}, with an ask also {request_id}. The line about a cut stands at the text's end. Harmless on a
/// terminal and to programs that know more line ends than one.
std::string json_line(const Offered&);

/// The text block a lead session sees: one <teammate-message> each, a label on possible repeats.
std::string block(const std::vector<Offered>&);

/// Starts argv (no shell) with the block on its standard input; delivered when it exits 0 within the time limit.
boost::asio::awaitable<Status> deliver_exec(const config::ExecSink&, const std::string& team, std::string input);

/// Appends one JSON line a message to the file and syncs it. Readers skip empty lines: one stands between batches.
Status deliver_file(FileSystem&, const std::string& path, const std::vector<Offered>&);

}  // namespace inbox_poller::poller
