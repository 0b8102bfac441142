// The text block in which a lead session sees a teammate's message, and the neutralising that keeps a hostile text
// inside it. Shape: docs/reference/wire.md W24. Attributes come from the roster and the envelope
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
  std::string before = {};  // our own line about the text, in brackets: "[may be a repeat: …]"; omitted when empty
  std::string after = {};   // the same behind it
};

/// `<teammate-message teammate_id="…" color="…" summary="…">` newline text newline `</teammate-message>`.
std::string render(const TeammateMessage&);

/// Several blocks in the given (arrival) order, joined by one blank line.
std::string render(std::span<const TeammateMessage>);

/// The text without what a terminal would obey or nobody could see: control characters other than newline and tab (C0,
/// DEL, C1), direction overrides, zero-width spaces, tag characters. Joiners and variation selectors stay, at most two
/// in a row: emoji and several scripts need them, and longer rows hide texts. U+2028 and U+2029 become newlines,
/// invalid UTF-8 becomes U+FFFD.
std::string visible(std::string_view text);

/// Text made safe to show inside a block or on a terminal: visible(), and then tags that could open or close a block, a
/// system note, a command record, a tool call, a thought or a turn neutralised (the bracket becomes `&lt;`), lines that
/// look like a turn marker ("Human:", "Assistant:", "System:", "User:") or like our own lines about a text
/// ("[may be a repeat", "[cut:") quoted with "> ". They are found in any case, with any kind of space, with joiners
/// inside, behind a name space ("x:invoke"), and when brackets, slashes, hyphens, colons or letters only look the same
/// (schema/fold.hpp). Longer names (`<teammate_messages>`) stay.
std::string neutralise(std::string_view text);

}  // namespace inbox_poller::schema
