#include "poller/mailbox/arrays/prefix_cache.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <random>
#include <unordered_map>
#include <utility>

namespace inbox_poller::poller {

namespace {

using Secret = std::array<unsigned char, XXH3_SECRET_DEFAULT_SIZE>;

const Secret& secret() {
  static const Secret drawn = [] {
    Secret bytes;
    std::random_device source;
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(source());
    return bytes;
  }();
  return drawn;
}

Fingerprint identity_of(const schema::MessageKey& key) { return fingerprint(schema::with_occurrence(key, 0)); }

}  // namespace

Fingerprint fingerprint(const schema::MessageKey& key) {
  return XXH3_64bits_withSecret(key.value.data(), key.value.size(), secret().data(), secret().size());
}

KeySet::KeySet(std::vector<Fingerprint> keys) : keys_(std::move(keys)) { std::sort(keys_.begin(), keys_.end()); }

void KeySet::add(std::vector<Fingerprint> keys) {
  const auto old = static_cast<std::ptrdiff_t>(keys_.size());
  std::sort(keys.begin(), keys.end());
  keys_.insert(keys_.end(), keys.begin(), keys.end());
  std::inplace_merge(keys_.begin(), keys_.begin() + old, keys_.end());
}

bool KeySet::contains(const schema::MessageKey& key) const {
  return !keys_.empty() && std::binary_search(keys_.begin(), keys_.end(), fingerprint(key));
}

struct ByteHash::State {
  State() { XXH3_128bits_reset_withSecret(&xxh, secret().data(), secret().size()); }
  XXH3_state_t xxh;
};

ByteHash::ByteHash() = default;
ByteHash::~ByteHash() = default;
ByteHash::ByteHash(const ByteHash& other) : state_(other.state_ ? std::make_unique<State>(*other.state_) : nullptr) {}
ByteHash::ByteHash(ByteHash&&) noexcept = default;
ByteHash& ByteHash::operator=(ByteHash other) noexcept {
  state_ = std::move(other.state_);
  return *this;
}

void ByteHash::add(std::string_view bytes) {
  if (!state_) state_ = std::make_unique<State>();
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

ByteHash::Value ByteHash::value() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(state_ ? &state_->xxh : &std::make_unique<State>()->xxh);
  return {digest.low64, digest.high64};
}

ByteHash::Value hash_of(std::string_view bytes) {
  const XXH128_hash_t digest = XXH3_128bits_withSecret(bytes.data(), bytes.size(), secret().data(), secret().size());
  return {digest.low64, digest.high64};
}

void PrefixCache::cut(const Head& head) {
  if (head.entries == whole_.entries) return;
  identities_.resize(head.entries);
  whole_ = head.entries == settled_.entries ? settled_ : Checkpoint{};
  settled_ = whole_;
}

void PrefixCache::add(Head& head, const InboxDocument& document, std::span<const InboxEntry> entries) {
  if (entries.empty()) return;
  bool settled = settled_.entries == whole_.entries;
  const auto border = [&] { return Checkpoint{head.offset, whole_.last_begins, head.entries, head.hash.value()}; };
  identities_.reserve(identities_.size() + entries.size());
  for (const InboxEntry& entry : entries) {
    if (settled && entry.in_place) {
      settled_ = border();
      settled = false;
    }
    whole_.last_begins = head.offset;
    head.hash.add(document.bytes().substr(head.offset - document.offset(), entry.bytes.end - head.offset));
    head.offset = entry.bytes.end;
    ++head.entries;
    identities_.push_back(identity_of(entry.key));
  }
  whole_ = border();
  if (settled) settled_ = whole_;
}

void PrefixCache::number(InboxDocument& document, std::size_t skipped) const {
  std::unordered_map<Fingerprint, Occurrences> counts;
  std::vector<bool> filter(std::size_t{1} << 14);  // quickly skips cached entries outside of the document
  const auto place = [&](Fingerprint identity) { return identity % filter.size(); };
  if (size() > 0) {
    for (const InboxEntry& entry : document.entries()) {
      const Fingerprint identity = identity_of(entry.key);
      counts.try_emplace(identity);
      filter[place(identity)] = true;
    }
  }
  for (std::size_t i = 0; i < identities_.size() && !counts.empty(); ++i) {
    if (!filter[place(identities_[i])]) continue;
    const auto found = counts.find(identities_[i]);
    if (found == counts.end()) continue;
    ++found->second.known;
    if (i < skipped) ++found->second.before;
  }
  document.number([&](const schema::MessageKey& first) {
    const auto found = counts.find(fingerprint(first));
    return found == counts.end() ? Occurrences{} : found->second;
  });
}

bool PrefixCache::contains(const schema::MessageKey& key, std::size_t among) const {
  const auto end = identities_.begin() + static_cast<std::ptrdiff_t>(std::min(among, identities_.size()));
  const auto count = std::count(identities_.begin(), end, identity_of(key));
  return static_cast<std::size_t>(count) > schema::occurrence_of(key);
}

}  // namespace inbox_poller::poller
