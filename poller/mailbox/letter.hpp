// One letter between agents that share their mail, as a lead reads it, and what a lead says as a letter: the same in a
// folder and in Redis. Pure. Source: docs/adr/0036-maildir-teams.md.
#pragma once

#include <string>
#include <string_view>

#include "poller/mailbox/mailbox.hpp"
#include "schema/envelope.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {

/// What a letter says. Everything is chat here, whatever another system would read in it: a text alone is itself; what
/// has a type of its own, answers another letter, or is addressed to somebody else than the lead says so in front, with
/// its id, under which it can be answered. An error ("letter.field") for one without a sender.
Result<schema::Message> message_of(const schema::Envelope& letter, std::string_view lead);

/// The letter that says this to an actor. An error ("letter.not_carried") for orders and answers: nobody here obeys.
Result<schema::Envelope> letter_of(const schema::Message& message, std::string_view to, std::string_view id);

/// What a letter of ours said; the message that letter_of() wrote so.
schema::Message own_message_of(const schema::Envelope& letter);

/// What message_of() makes of these bytes; a plain text among the usual members is all that they say.
Result<Decoded> decode_letter(std::string_view bytes, std::string_view lead);

/// What a letter is known by: ours by the key that is its id, any other by its sender, id, type and payload. `id`: of the
/// letter, or what it is known by without one.
schema::MessageKey key_of_letter(const schema::KeyScope&, const schema::Envelope& letter, const std::string& id,
                                 std::string_view lead);

}  // namespace inbox_poller::poller
