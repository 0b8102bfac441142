// The text block of a teammate's message in a lead session, and the escaping that keeps a hostile text inside it.
// Format: docs/reference/wire.md W24. Attributes come from the roster and the validated envelope, never raw from a
// payload. A block never claims to come from a human.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

struct TeammateMessage {
  std::string teammate_id;  // the sender's bare name; made one line, escaped and cut like the summary
  std::string color;        // one of the eight known colors, else omitted
  std::string summary;      // made one line of at most 200 characters; omitted if empty
  std::string text;
  std::string before = {};  // InboxPoller's line about the text: "[may be a repeat: …]"; omitted if empty
  std::string after = {};   // the same, after the text
};

/// Returns `<teammate-message teammate_id="…" color="…" summary="…">` newline text newline `</teammate-message>`.
std::string render(const TeammateMessage&);

/// Returns several blocks in the given (arrival) order, joined by one blank line.
std::string render(std::span<const TeammateMessage>);

/// Returns the text without characters that a terminal would obey or a reader cannot see: control characters other than
/// newline and tab (C0, DEL, C1), direction overrides, zero-width spaces, tag characters. Joiners and variation
/// selectors stay, at most two in a row: emoji and several scripts need them, but longer rows hide texts. U+2028 and
/// U+2029 become newlines, invalid UTF-8 becomes U+FFFD.
std::string visible(std::string_view text);

/// Returns a text that is safe inside a block or on a terminal. Applies visible(), then escapes the bracket (`&lt;`) of
/// tags that could open or close a block, a system note, a command record, a tool call, a thought or a turn. Lines that
/// look like a turn marker ("Human:", "Assistant:", "System:", "User:") or like InboxPoller's own lines ("[may be a
/// repeat", "[not sent", "[cut") are quoted with "> ". Found in any case and spacing, with joiners inside, after a name
/// space
/// ("x:invoke"), and with lookalike characters (schema/fold.hpp). Longer names (`<teammate_messages>`) stay.
std::string neutralise(std::string_view text);

}  // namespace inbox_poller::schema
