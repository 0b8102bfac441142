// Names, request ids and message keys: what may be called what, and how one message is told from another.
// Everything here comes from files that any agent can write; nothing is trusted before it went through these functions.
// Source: docs/reference/wire.md W2 (names), W16 (ids), W7 (identity).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// True for names that every client takes as they are: `^[A-Za-z0-9_-]{1,64}$`, not starting with '-'.
bool is_valid_name(std::string_view name);

/// The name of a member's inbox, as clients make it: each UTF-16 unit outside of [A-Za-z0-9_-] becomes '-'. Names that
/// are valid stay; others may meet ("a.b" and "a b").
std::string inbox_name(std::string_view member);

/// True for what inbox_name() may give and a file with a lock beside it can bear: `^[A-Za-z0-9_-]{1,200}$`.
bool is_inbox_name(std::string_view name);

/// The member name in "name" or "name@team". Cuts at the first '@'; never allocates.
std::string_view bare_name(std::string_view name_or_agent_id);

/// True for team names that every observed client finds again: 2.1.50 looks the roster up in lower case, with every
/// other character than letters and digits as '-'.
bool is_found_by_old_clients(std::string_view team);

/// True for texts of which a reader sees every character: UTF-8 without U+FFFD and without what odd_characters.hpp has.
bool is_seen(std::string_view text);

/// True for the id of a pane, as tmux gives them: "%3", at most nine digits.
bool is_pane_id(std::string_view text);

/// True for request ids we are willing to keep, log and echo: 1 to 256 bytes of `[A-Za-z0-9@._:+=-]`, and behind the
/// first '@', where clients write the asker's name, whatever is_seen().
bool is_valid_request_id(std::string_view id);

/// The identity of one message in our ledger: 32 hexadecimal digits, then "-<n>" for the n-th repetition (n >= 1) of
/// the same (from, timestamp, text) in one inbox. Stable across rewrites of the file by peers, since it covers decoded
/// values.
struct MessageKey {
  std::string value;
  bool operator==(const MessageKey&) const = default;
  auto operator<=>(const MessageKey&) const = default;
};

/// Where a key lives: the same text in another inbox is another message.
struct KeyScope {
  std::string team;
  std::string inbox;
};

/// Builds the key for an entry whose decoded identity is (from, timestamp, text). `occurrence` counts equals before it.
MessageKey make_message_key(const KeyScope&, std::string_view from, std::string_view timestamp, std::string_view text,
                            std::size_t occurrence);

/// The key of an entry that has no such identity (not an object, or without a string `from` and `text`), from bytes
/// that the caller has freed of white space and of the read flag. Never equal to a key of make_message_key.
MessageKey make_bad_entry_key(const KeyScope&, std::string_view bytes, std::size_t occurrence);

/// The same identity at another occurrence.
MessageKey with_occurrence(const MessageKey&, std::size_t occurrence);

/// How often the identity had occurred before this entry; 0 for the first.
std::size_t occurrence_of(const MessageKey&);

/// Lower-case hexadecimal SHA-256 of the bytes; binds a decision to what was asked.
std::string content_hash(std::string_view bytes);

/// A UUID (version 8, RFC 9562) derived from a seed: the same decision always writes the same `msg_id`.
std::string uuid_from(std::string_view seed);

/// `2026-02-07T15:20:46.348Z`: what JavaScript's toISOString() writes, 24 characters, UTC. Pure arithmetic, no clock.
/// Times outside the years 0000 to 9999 are moved to the nearest end.
std::string iso_timestamp(long long epoch_ms);

}  // namespace inbox_poller::schema
