// The text block in which a lead session sees a teammate's message, and the neutralising that keeps a hostile text
// inside it. Shape: protocol.md A.4 (clients 2.1.50 and 2.1.329). Attributes come from the roster and the envelope
// after validation, never raw from a payload. A block never claims to come from a human.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

struct TeammateMessage {
  std::string teammate_id;  // the sender's bare name; made one line, escaped and cut like the summary, whatever it is
  std::string color;        // one of the eight known colours, otherwise omitted
  std::string summary;      // made one line, at most 200 characters, otherwise cut; omitted when empty
  std::string text;
};

/// `<teammate-message teammate_id="…" color="…" summary="…">` newline text newline `</teammate-message>`.
std::string render(const TeammateMessage&);

/// Several blocks in the given (arrival) order, joined by one blank line.
std::string render(std::span<const TeammateMessage>);

/// Text made safe to show inside a block or on a terminal: control characters other than newline and tab removed (C0,
/// DEL, C1), invisible characters removed (direction overrides, zero-width spaces, tag characters; joiners stay),
/// invalid UTF-8 replaced, tags that could open or close a block, a system note or a command record neutralised (`<`
/// becomes `&lt;`), lines that look like a turn marker ("Human:", "Assistant:", "System:") quoted with "> ". Lookalikes
/// (`<teammate_messages>`) stay.
std::string neutralise(std::string_view text);

}  // namespace inbox_poller::schema
