// A mailbox in memory: the port without a file, for tests whose subject is somebody else. It can be given a defect, so
// that the conformance suite can show that it would be found.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <limits>
#include <map>
#include <set>
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
  shows_newest_first,
  shows_settled_again,
  forgets_what_it_showed,  // whether it was settled or not
  consumes_when_shown,
  consumes_what_is_left,
  consumes_nothing,
  consumes_all,          // also what came after the look
  numbers_keys_by_place,
  ends_at_a_bad_one,
  settles_what_must_stay,
  rewinds_nothing,
  gives_all_at_once,
  trims_all,
  holds_nothing,
  has_no_news,
  sees_no_others,
  ends_at_a_refused_one,
  says_done_for_all,  // of several, whatever came of each
  posts_in_another_order,
  posts_the_first_only,
  consumes_once,  // what was put back unread stays so
};

class MemoryMailbox final : public poller::Mailbox {
 public:
  struct Entry {
    schema::MessageKey key;
    schema::Message message;
    bool read = false;
    std::string bytes{};  // of a bad one; empty: the message is what there is
  };
  using Box = std::vector<Entry>;

  /// What it does not take.
  static constexpr std::string_view refused_text = "refuse me";

  explicit MemoryMailbox(Defect defect = Defect::none) : defect_(defect) {}

  Result<std::span<const poller::ReadyBox>> ready_boxes() override {
    ready_.clear();
    for (const auto& [name, entries] : boxes_) {
      const bool all_shown = std::all_of(entries.begin(), entries.end(), [&, box = name](const Entry& entry) {
        const Look& look = looks_[box];
        return look.settled.contains(entry.key) && (entry.read || !look.owed.contains(entry.key));
      });
      const bool as_seen = flags_of(entries) == looks_[name].seen;
      ready_.push_back({name, !(all_shown && as_seen) && defect_ != Defect::has_no_news});
    }
    return std::span<const poller::ReadyBox>(ready_);
  }
  /// What peers do between the begin of a poll and its reading of a box.
  std::function<void(const std::string& box)> before_receive;

  boost::asio::awaitable<poller::Batch> receive(std::string name, poller::Access reader, std::size_t most) override {
    if (before_receive) before_receive(name);
    poller::Batch batch;
    Look& look = looks_[name];
    if (look.reader && (*look.reader == poller::Access::peek) != (reader == poller::Access::peek))
      look = Look();
    look.reader = reader;
    if (!boxes_.contains(name)) co_return batch;
    Box& box = boxes_[name];
    if (defect_ == Defect::shows_newest_first) std::reverse(box.begin(), box.end());
    batch.state = poller::BoxState::open;
    this->look(name);
    if (!look.goes_on) tell_of_others(box, look, batch);
    if (defect_ == Defect::gives_all_at_once) most = box.size();
    look.shown.clear();
    for (std::size_t i = 0; i < box.size(); ++i) {
      Entry& entry = box[i];
      if (defect_ == Defect::numbers_keys_by_place) entry.key.value = std::to_string(i);
      if (defect_ == Defect::ends_at_a_bad_one && !entry.bytes.empty()) break;
      const bool settled = look.settled.contains(entry.key) && defect_ != Defect::shows_settled_again;
      if (settled || look.again.contains(entry.key)) continue;
      batch.more = look.shown.size() == most;
      if (batch.more) break;
      look.shown.push_back(entry.key);
      texts_[entry.key] = entry.bytes.empty() ? spelt(entry.message) : entry.bytes;
      batch.taken.push_back({entry.key, texts_[entry.key], entry.read});
      if (defect_ == Defect::consumes_when_shown) entry.read = true;
      if (defect_ == Defect::forgets_what_it_showed) look.settled.insert(entry.key);
    }
    look.goes_on = batch.more;
    if (!batch.more) look.again.clear();
    batch.size.entries = box.size();
    for (const Entry& entry : box) batch.size.unread += entry.read ? 0 : 1;
    look.seen = flags_of(box);
    co_return batch;
  }
  boost::asio::awaitable<poller::Settled> ack(std::string name, std::vector<poller::Ack> disposals) override {
    poller::Settled told;
    Look& look = looks_[name];
    const bool may_consume = look.reader != poller::Access::peek;
    for (std::size_t i = 0; i < std::min(disposals.size(), look.shown.size()); ++i) {
      const auto disposal = disposals[i];
      if (disposal == poller::Ack::requeue && defect_ != Defect::settles_what_must_stay) {
        if (look.goes_on) look.again.insert(look.shown[i]);
        continue;
      }
      look.settled.insert(look.shown[i]);
      if (disposal == poller::Ack::ack || defect_ == Defect::consumes_what_is_left)
        look.owed.insert(look.shown[i]);
    }
    const auto obstacle = obstacles_.find(name);
    const bool held = obstacle != obstacles_.end() && obstacle->second.put != poller::WriteStatus::done;
    if (held) told.put = obstacle->second.put;
    for (Entry& entry : boxes_[name]) {
      if (held || entry.read || !may_consume || !look.owed.contains(entry.key)) continue;
      if (defect_ == Defect::consumes_nothing) continue;
      entry.read = true;
      ++told.consumed;
      look.before[entry.key] = true;
    }
    if (defect_ == Defect::consumes_once) look.owed.clear();
    if (defect_ == Defect::consumes_all)
      for (Entry& entry : boxes_[name]) entry.read = true;
    look.shown.clear();
    co_return told;
  }
  void rewind(const std::string& name) override {
    if (defect_ != Defect::rewinds_nothing) looks_[name].settled.clear();
  }
  [[nodiscard]] Result<poller::Decoded> decode(std::string_view bytes) const override {
    boost::system::error_code problem;
    const auto value = boost::json::parse(bytes, problem);
    if (problem || !value.is_object()) return Error{"entry.syntax", "no message"};
    schema::Message message;
    for (const auto& [name, room] : {std::pair{"from", &message.from}, {"text", &message.text},
                                     {"summary", &message.summary}, {"timestamp", &message.timestamp},
                                     {"color", &message.color}, {"id", &message.id}}) {
      const auto* text = value.as_object().if_contains(name);
      if (text == nullptr || !text->is_string()) return Error{"entry.field", std::string(name) + " is no text"};
      *room = text->as_string();
    }
    return poller::Decoded{std::move(message), true};
  }
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> referenced(const std::string& name) const override {
    std::set<schema::MessageKey> keys;
    if (const auto box = boxes_.find(name); box != boxes_.end() && defect_ != Defect::holds_nothing)
      for (const Entry& entry : box->second) keys.insert(entry.key);
    return [keys](const schema::MessageKey& key) { return keys.contains(key); };
  }
  boost::asio::awaitable<poller::Expunged> expunge(std::string name, poller::RetentionPolicy choose) override {
    poller::Expunged told;
    Box& box = boxes_[name];
    std::vector<poller::Item> items;
    for (const Entry& entry : box) items.push_back({&entry.key, entry.message.text.size(), entry.read});
    auto going = co_await choose(items, items.size());
    if (!going) co_return poller::Expunged{{poller::WriteStatus::gone, {}}, 0, 0};
    if (defect_ == Defect::trims_all)
      for (going->clear(); going->size() < box.size();) going->push_back(going->size());
    for (auto index = going->rbegin(); index != going->rend(); ++index)
      box.erase(box.begin() + static_cast<std::ptrdiff_t>(*index));
    told.entries = going->size();
    if (going->empty()) told.put = poller::WriteStatus::unchanged;
    co_return told;
  }
  [[nodiscard]] poller::Contention contention() const override { return {}; }
  [[nodiscard]] std::string location(const std::string& name) const override { return "memory:" + name; }

  using poller::Mailbox::post;
  std::vector<poller::WriteReceipt> post(const std::string& inbox, std::span<const schema::Message> messages) override {
    std::vector<poller::WriteReceipt> results;
    for (const schema::Message& message : messages) {
      const bool stopped = !results.empty() && results.back().put == poller::WriteStatus::refused;
      if (stopped && defect_ == Defect::ends_at_a_refused_one) results.push_back(results.back());
      else results.push_back(post_one(inbox, message));
    }
    ++posts_;
    if (const auto obstacle = obstacles_.find(inbox); obstacle != obstacles_.end() && posts_ >= goes_at_)
      obstacle->second.put = poller::WriteStatus::done;
    if (defect_ == Defect::says_done_for_all)
      std::fill(results.begin(), results.end(), poller::WriteReceipt{});
    if (defect_ == Defect::posts_in_another_order && messages.size() > 1)
      std::swap(boxes_[inbox].end()[-1], boxes_[inbox].end()[-2]);
    if (defect_ == Defect::posts_the_first_only && messages.size() > 1) boxes_[inbox].pop_back();
    return results;
  }
  poller::WriteReceipt post_one(const std::string& inbox, const schema::Message& message) {
    if (message.text == refused_text) return {poller::WriteStatus::refused, "nobody carries it"};
    const auto obstacle = obstacles_.find(inbox);
    const bool stopped = obstacle != obstacles_.end() && obstacle->second.put != poller::WriteStatus::done;
    if (stopped && defect_ == Defect::says_done_while_busy) return {};
    if (stopped && defect_ != Defect::writes_while_busy) return obstacle->second;
    Entry entry{key_of(inbox, message), message};
    if (defect_ == Defect::cuts_texts) entry.message.text.resize(std::min(message.text.size(), std::size_t{64} << 10));
    Box& box = boxes_[inbox];
    const bool there = find(box, entry.key) != nullptr;
    tracked_[inbox][entry.key] = poller::ReadStatus::waiting;
    if (there && defect_ != Defect::posts_twice) return {poller::WriteStatus::unchanged, {}};
    if (defect_ == Defect::replaces_all) box.clear();
    box.insert(defect_ == Defect::puts_in_front ? box.begin() : box.end(), std::move(entry));
    if (stopped) return obstacle->second;
    return {};
  }
  void track(const std::string& inbox, const schema::MessageKey& key) override {
    if (defect_ != Defect::follows_nothing) tracked_[inbox].try_emplace(key, poller::ReadStatus::waiting);
  }
  [[nodiscard]] poller::ReadStatus read_status(const std::string& inbox, const schema::MessageKey& key) const override {
    const auto box = tracked_.find(inbox);
    if (box == tracked_.end() || !box->second.contains(key)) return poller::ReadStatus::waiting;
    return box->second.at(key);
  }
  void untrack(const std::string& inbox, const schema::MessageKey& key) override { tracked_[inbox].erase(key); }
  poller::WriteReceipt recall(const std::string& inbox, std::span<const schema::MessageKey> keys) override {
    if (!boxes_.contains(inbox)) return {poller::WriteStatus::gone, {}};
    if (defect_ == Defect::retracts_nothing) return {};
    for (Entry& entry : boxes_[inbox]) {
      const bool ours = std::find(keys.begin(), keys.end(), entry.key) != keys.end();
      if (ours || defect_ == Defect::retracts_all) entry.read = true;
    }
    return {};
  }

  /// What stands in the way of every post, until it is `done` again.
  void obstruct(const std::string& inbox, poller::WriteReceipt how) {
    obstacles_[inbox] = std::move(how);
    goes_at_ = std::numeric_limits<long>::max();
  }
  /// Goes by itself when something was posted once.
  void obstruct_once(const std::string& inbox, poller::WriteReceipt how) {
    obstacles_[inbox] = std::move(how);
    goes_at_ = posts_ + 1;
  }
  /// How often something was posted, however much at a time.
  [[nodiscard]] long posts() const { return posts_; }
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
    for (auto& [key, read_status] : tracked_[inbox]) {
      const Entry* entry = find(boxes_[inbox], key);
      const bool lost = std::find(lost_.begin(), lost_.end(), key) != lost_.end();
      read_status = entry != nullptr && !entry->read ? poller::ReadStatus::waiting : poller::ReadStatus::consumed;
      if (entry == nullptr && lost && defect_ != Defect::tells_lost_as_consumed) read_status = poller::ReadStatus::lost;
    }
  }
  /// What a new process knows of what was posted: nothing.
  void reopen() {
    tracked_.clear();
    looks_.clear();
  }

  static schema::MessageKey key_of(const std::string& inbox, const schema::Message& message) {
    return schema::make_message_key({"team", inbox}, message.from, message.timestamp, message.text, 0);
  }

 private:
  struct Look {
    std::optional<poller::Access> reader;
    std::set<schema::MessageKey> settled;
    std::set<schema::MessageKey> owed;   // to be consumed, however often somebody takes that back
    std::set<schema::MessageKey> again;  // until the look ends
    std::vector<schema::MessageKey> shown;
    std::map<schema::MessageKey, bool> before;  // whether it was read
    std::vector<std::pair<schema::MessageKey, bool>> seen;  // the box at the last look, with what was read
    bool goes_on = false;
  };

  void tell_of_others(const Box& box, Look& look, poller::Batch& batch) const {
    for (const Entry& entry : box) {
      const auto before = look.before.find(entry.key);
      const bool is_news = before != look.before.end() && !before->second && entry.read;
      if (is_news && defect_ != Defect::sees_no_others)
        batch.signs.push_back({poller::ConsumerEvidence::What::consumed, entry.key, {}});
      look.before[entry.key] = entry.read;
    }
  }
  static std::vector<std::pair<schema::MessageKey, bool>> flags_of(const Box& box) {
    std::vector<std::pair<schema::MessageKey, bool>> flags;
    for (const Entry& entry : box) flags.emplace_back(entry.key, entry.read);
    return flags;
  }
  static std::string spelt(const schema::Message& one) {
    return boost::json::serialize(boost::json::object{{"from", one.from},
                                                      {"text", one.text},
                                                      {"summary", one.summary},
                                                      {"timestamp", one.timestamp},
                                                      {"color", one.color},
                                                      {"id", one.id}});
  }
  static Entry* find(Box& box, const schema::MessageKey& key) {
    const auto found = std::find_if(box.begin(), box.end(), [&](const Entry& entry) { return entry.key == key; });
    return found == box.end() ? nullptr : &*found;
  }

  Defect defect_;
  std::map<std::string, Box> boxes_;
  std::map<std::string, std::map<schema::MessageKey, poller::ReadStatus>> tracked_;
  std::map<std::string, poller::WriteReceipt> obstacles_;
  long posts_ = 0;
  long goes_at_ = std::numeric_limits<long>::max();  // of posts_: when what obstructs goes
  std::vector<schema::MessageKey> lost_;
  std::map<std::string, Look> looks_;
  std::map<schema::MessageKey, std::string> texts_;  // of what was shown
  std::vector<poller::ReadyBox> ready_;
};

}  // namespace inbox_poller::test
