// Conversion between a letter of agents that share their mail and a message of the lead: the same in a folder and in
// Redis. Nothing here reads or writes files. Source: docs/adr/0035-maildir-teams.md.
#pragma once

#include <string>
#include <string_view>

#include "poller/mailbox/mailbox.hpp"
#include "schema/envelope.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {

/// Converts a letter to a message; every letter is chat, whatever another system would read in it. A plain text stays
/// as it is. A prefix names a type of its own, the letter that it answers, and an addressee other than the lead. The
/// prefix includes the letter's id, so that the lead can answer it. Error: "letter.field" for a letter without a
/// sender.
Result<schema::Message> message_of(const schema::Envelope& letter, std::string_view lead);

/// Builds the letter with this message for an actor. Error: "letter.not_carried" for orders and answers, because no
/// actor here obeys them.
Result<schema::Envelope> letter_of(const schema::Message& message, std::string_view to, std::string_view id);

/// Restores the message from which letter_of() made this letter.
schema::Message own_message_of(const schema::Envelope& letter);

/// Decodes bytes by message_of(). `says_all` is true for a plain text with the usual members only. Errors: those of
/// Envelope::decode(), "letter.field".
Result<Decoded> decode_letter(std::string_view bytes, std::string_view lead);

/// Returns the key of a letter: the key that is its id for our letters, else one of sender, id, type and payload. `id`
/// is the letter's id, or a substitute for a letter without one.
schema::MessageKey key_of_letter(const schema::KeyScope&, const schema::Envelope& letter, const std::string& id,
                                 std::string_view lead);

}  // namespace inbox_poller::poller
