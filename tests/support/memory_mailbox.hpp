// A mailbox in memory: the port without a file, for tests whose subject is somebody else. It can be given a defect, so
// that the conformance suite can show that it would be found.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::test {

enum class Defect {
  none,
  posts_twice,           // never looks whether it is there
  cuts_texts,            // at 64 KiB
  puts_in_front,         // the newest first
  replaces_all,          // what others had written goes
  says_done_while_busy,  // and writes nothing
  writes_while_busy,     // tells, and does it all the same
  follows_nothing,       // of an earlier process
  never_consumed,
  tells_lost_as_consumed,
  retracts_all,  // also what others wrote
  retracts_nothing,
};

class MemoryMailbox final : public poller::Mailbox {
 public:
  struct Entry {
    schema::MessageKey key;
    schema::Message message;
    bool read = false;
  };
  using Box = std::vector<Entry>;

  explicit MemoryMailbox(Defect defect = Defect::none) : defect_(defect) {}

  poller::PutResult post(const std::string& inbox, const schema::Message& message) override {
    const auto obstacle = obstacles_.find(inbox);
    const bool stopped = obstacle != obstacles_.end() && obstacle->second.put != poller::Put::done;
    if (stopped && defect_ == Defect::says_done_while_busy) return {};
    if (stopped && defect_ != Defect::writes_while_busy) return obstacle->second;
    Entry entry{key_of(inbox, message), message};
    if (defect_ == Defect::cuts_texts) entry.message.text.resize(std::min(message.text.size(), std::size_t{64} << 10));
    Box& box = boxes_[inbox];
    const bool there = find(box, entry.key) != nullptr;
    followed_[inbox][entry.key] = poller::Fate::waiting;
    if (there && defect_ != Defect::posts_twice) return {poller::Put::already, {}};
    if (defect_ == Defect::replaces_all) box.clear();
    box.insert(defect_ == Defect::puts_in_front ? box.begin() : box.end(), std::move(entry));
    if (stopped) return obstacle->second;
    return {};
  }
  void follow(const std::string& inbox, const schema::MessageKey& key) override {
    if (defect_ != Defect::follows_nothing) followed_[inbox].try_emplace(key, poller::Fate::waiting);
  }
  [[nodiscard]] poller::Fate fate(const std::string& inbox, const schema::MessageKey& key) const override {
    const auto box = followed_.find(inbox);
    if (box == followed_.end() || !box->second.contains(key)) return poller::Fate::waiting;
    return box->second.at(key);
  }
  void let_go(const std::string& inbox, const schema::MessageKey& key) override { followed_[inbox].erase(key); }
  poller::PutResult retract(const std::string& inbox, std::span<const schema::MessageKey> keys) override {
    if (!boxes_.contains(inbox)) return {poller::Put::gone, {}};
    if (defect_ == Defect::retracts_nothing) return {};
    for (Entry& entry : boxes_[inbox]) {
      const bool ours = std::find(keys.begin(), keys.end(), entry.key) != keys.end();
      if (ours || defect_ == Defect::retracts_all) entry.read = true;
    }
    return {};
  }

  /// What stands in the way of every post, until it is `done` again.
  void obstruct(const std::string& inbox, poller::PutResult how) { obstacles_[inbox] = std::move(how); }
  /// The box itself: what its owner and others do to it.
  Box& box(const std::string& inbox) { return boxes_[inbox]; }
  /// Another one wrote an older state of the box over this one: what it does not hold was never read.
  void put_back(const std::string& inbox, Box older) {
    for (const Entry& entry : boxes_[inbox])
      if (find(older, entry.key) == nullptr && !entry.read) lost_.push_back(entry.key);
    boxes_[inbox] = std::move(older);
  }
  /// A look into the box: the fates are as of now.
  void look(const std::string& inbox) {
    if (defect_ == Defect::never_consumed) return;
    for (auto& [key, fate] : followed_[inbox]) {
      const Entry* entry = find(boxes_[inbox], key);
      const bool lost = std::find(lost_.begin(), lost_.end(), key) != lost_.end();
      fate = entry != nullptr && !entry->read ? poller::Fate::waiting : poller::Fate::consumed;
      if (entry == nullptr && lost && defect_ != Defect::tells_lost_as_consumed) fate = poller::Fate::lost;
    }
  }
  /// What a new process knows of what was posted: nothing.
  void reopen() { followed_.clear(); }

  static schema::MessageKey key_of(const std::string& inbox, const schema::Message& message) {
    return schema::make_message_key({"team", inbox}, message.from, message.timestamp, message.text, 0);
  }

 private:
  static Entry* find(Box& box, const schema::MessageKey& key) {
    const auto found = std::find_if(box.begin(), box.end(), [&](const Entry& entry) { return entry.key == key; });
    return found == box.end() ? nullptr : &*found;
  }

  Defect defect_;
  std::map<std::string, Box> boxes_;
  std::map<std::string, std::map<schema::MessageKey, poller::Fate>> followed_;
  std::map<std::string, poller::PutResult> obstacles_;
  std::vector<schema::MessageKey> lost_;
};

}  // namespace inbox_poller::test
