// Cache of the head of an inbox, the entries at the beginning of the file that are read and dealt with. The cache has
// their number, their identities, and a hash of their bytes. A head with the same hash is not scanned; otherwise
// everything is scanned. The cache describes bytes and not a file, so it cannot become stale.
// The hash is XXH3-128 with a secret that this process draws, so that no peer can prepare other bytes with the same
// hash.
// Source: docs/adr/0013-the-known-head-of-an-inbox.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "poller/mailbox/arrays/inbox_document.hpp"

namespace inbox_poller::poller {

/// Short form of a key within this process; two keys share one once in 2^64.
using Fingerprint = std::uint64_t;
Fingerprint fingerprint(const schema::MessageKey& key);

/// Set of keys, at eight bytes each.
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

/// Hash of bytes that are added in pieces.
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

/// Returns the hash of these bytes alone.
ByteHash::Value hash_of(std::string_view bytes);

/// A beginning of a file that ends with an entry, and the hash of its bytes.
struct Head {
  ByteHash hash;
  std::uint64_t offset = 0;  // bytes in it
  std::size_t entries = 0;
};

class PrefixCache {
 public:
  /// A beginning that a later reading may recognize.
  struct Checkpoint {
    std::uint64_t offset = 0;
    std::uint64_t last_begins = 0;  // end of the entry before the last one
    std::size_t entries = 0;
    ByteHash::Value hash;
  };

  [[nodiscard]] std::size_t size() const { return identities_.size(); }
  /// Returns the shorter checkpoint; whole() returns the longer one. They differ by entries that we marked in place.
  /// The next client that writes the file may reformat those marks, or keep the bytes as they are.
  [[nodiscard]] const Checkpoint& settled() const { return settled_; }
  [[nodiscard]] const Checkpoint& whole() const { return whole_; }

  /// Keeps the head that the reading recognized, and drops the rest.
  void cut(const Head& head);
  /// Adds entries of the document, which follow the head and are marked read; moves the head to their end.
  void add(Head& head, const InboxDocument& document, std::span<const InboxEntry> entries);

  /// Numbers equal entries of the document and sets `known`; the first `skipped` cached entries lie before the
  /// document.
  void number(InboxDocument& document, std::size_t skipped) const;
  /// True if an entry with this key is among the first `among` cached entries.
  [[nodiscard]] bool contains(const schema::MessageKey& key, std::size_t among) const;
  /// Returns the keys without their occurrence numbers.
  [[nodiscard]] KeySet identities() const { return KeySet(identities_); }

 private:
  std::vector<Fingerprint> identities_;  // of the keys without occurrence numbers; in the order of the file
  Checkpoint settled_;
  Checkpoint whole_;
};

}  // namespace inbox_poller::poller
