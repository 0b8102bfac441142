// Names, request ids and message keys: what is valid, and how messages are told apart. Invariant: no name or id from a
// file is used before a function here has checked it. Source: docs/reference/wire.md W2 (names), W16 (ids), W7
// (identity).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Returns true for names that every client uses unchanged: `^[A-Za-z0-9_-]{1,64}$`, not starting with '-'.
bool is_valid_name(std::string_view name);

/// Returns a member's inbox name as clients make it: each UTF-16 unit outside of [A-Za-z0-9_-] becomes '-'. Valid names
/// stay; others may collide ("a.b" and "a b").
std::string inbox_name(std::string_view member);

/// Returns true for results of inbox_name() that fit a file name with a lock next to it: `^[A-Za-z0-9_-]{1,200}$`.
bool is_inbox_name(std::string_view name);

/// Returns the member name in "name" or "name@team", cut at the first '@'. Allocates no memory.
std::string_view bare_name(std::string_view name_or_agent_id);

/// Returns true for team names that every tested client finds again. 2.1.50 looks for the roster in lower case, with
/// '-' for every character but letters and digits.
bool is_found_by_old_clients(std::string_view team);

/// Returns true if a reader sees every character: UTF-8 without U+FFFD and the characters of odd_characters.hpp.
bool is_seen(std::string_view text);

/// Returns true for a tmux pane id: "%3", at most nine digits.
bool is_pane_id(std::string_view text);

/// Returns true for request ids that may be kept, logged and returned: 1 to 256 bytes of `[A-Za-z0-9@._:+=-]`. After
/// the first '@', where clients write the worker's name, any text that is_seen() is allowed.
bool is_valid_request_id(std::string_view id);

/// The identity of one message in the ledger: 32 hexadecimal digits, then "-<n>" for repetition n (n >= 1) of the same
/// (from, timestamp, text) in one inbox. Covers decoded values, so that peers may rewrite the file.
struct MessageKey {
  std::string value;
  bool operator==(const MessageKey&) const = default;
  auto operator<=>(const MessageKey&) const = default;
};

/// The inbox of a key: the same text in another inbox is another message.
struct KeyScope {
  std::string team;
  std::string inbox;
};

/// Returns the key of an entry with the decoded identity (from, timestamp, text). `occurrence`: the number of equal
/// entries before it.
MessageKey make_message_key(const KeyScope&, std::string_view from, std::string_view timestamp, std::string_view text,
                            std::size_t occurrence);

/// Returns the key of an entry without that identity (not an object, or without a string `from` and `text`). `bytes`:
/// without white space and the read flag. Never equal to a key of make_message_key.
MessageKey make_bad_entry_key(const KeyScope&, std::string_view bytes, std::size_t occurrence);

/// Returns the key of the same identity at another occurrence.
MessageKey with_occurrence(const MessageKey&, std::size_t occurrence);

/// Returns the number of equal entries before this entry.
std::size_t occurrence_of(const MessageKey&);

/// Returns the lower-case hexadecimal SHA-256 of the bytes; binds a decision to the contents.
std::string content_hash(std::string_view bytes);

/// Returns a UUID (version 8, RFC 9562) derived from a seed, so that the same decision always writes the same `msg_id`.
std::string uuid_from(std::string_view seed);

/// Returns `2026-02-07T15:20:46.348Z`, as by JavaScript's toISOString(): 24 characters, UTC. Times outside of the years
/// 0000 to 9999 become the nearest limit.
std::string iso_timestamp(long long epoch_ms);

}  // namespace inbox_poller::schema
