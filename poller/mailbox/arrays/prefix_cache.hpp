// What the reader of an inbox knows of its head: how many entries at the beginning of the file are marked read and
// dealt with, which they are, and a hash of their bytes. What has the same bytes need not be scanned, and what has not
// is scanned as if nothing were known. What it says of the bytes is true for ever, so nothing here can become stale.
// The hash is XXH3-128 over a secret that this process draws: nobody can prepare other bytes that have it.
// Source: docs/adr/0013-the-known-head-of-an-inbox.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "poller/mailbox/arrays/inbox_document.hpp"

namespace inbox_poller::poller {

/// Stands for a key within this process; two keys share one once in 2^64.
using Fingerprint = std::uint64_t;
Fingerprint fingerprint(const schema::MessageKey& key);

/// Keys at eight bytes each.
class KeySet {
 public:
  KeySet() = default;
  explicit KeySet(std::vector<Fingerprint> keys);
  void add(std::vector<Fingerprint> keys);
  void clear() { keys_ = {}; }
  [[nodiscard]] bool contains(const schema::MessageKey& key) const;

 private:
  std::vector<Fingerprint> keys_;  // sorted
};

/// A hash of bytes that come in pieces.
class ByteHash {
 public:
  struct Value {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Value&) const = default;
  };

  ByteHash();
  ~ByteHash();
  ByteHash(const ByteHash&);
  ByteHash(ByteHash&&) noexcept;
  ByteHash& operator=(ByteHash) noexcept;

  void add(std::string_view bytes);
  [[nodiscard]] Value value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;  // null: no bytes yet
};

/// Of these bytes alone.
ByteHash::Value hash_of(std::string_view bytes);

/// A beginning of a file that ends with an entry, and its hash so far.
struct Head {
  ByteHash hash;
  std::uint64_t offset = 0;  // bytes in it
  std::size_t entries = 0;
};

class PrefixCache {
 public:
  /// A beginning that may be met again.
  struct Checkpoint {
    std::uint64_t offset = 0;
    std::uint64_t last_begins = 0;  // where the part with the last entry begins: behind the one before it
    std::size_t entries = 0;
    ByteHash::Value hash;
  };

  [[nodiscard]] std::size_t size() const { return identities_.size(); }
  /// The shorter one first. They differ by entries that we marked in place: the next client that writes the file spells
  /// these marks in its own way, and a client that leaves bytes alone does not.
  [[nodiscard]] const Checkpoint& settled() const { return settled_; }
  [[nodiscard]] const Checkpoint& whole() const { return whole_; }

  /// Keeps what the reading recognised, and forgets the rest.
  void cut(const Head& head);
  /// Adds entries of the document, which follow the head and are marked read; moves the head behind them.
  void add(Head& head, const InboxDocument& document, std::span<const InboxEntry> entries);

  /// Numbers equals among the document's entries, and says which were known; `skipped` of ours stand before them.
  void number(InboxDocument& document, std::size_t skipped) const;
  /// Whether an entry with this key is among the first so many.
  [[nodiscard]] bool contains(const schema::MessageKey& key, std::size_t among) const;
  /// The keys without their numbers.
  [[nodiscard]] KeySet identities() const { return KeySet(identities_); }

 private:
  std::vector<Fingerprint> identities_;  // of the keys without their numbers; in the order of the file
  Checkpoint settled_;
  Checkpoint whole_;
};

}  // namespace inbox_poller::poller
