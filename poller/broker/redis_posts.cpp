// Writes of a Redis team: the team's thread runs them, and a later call returns the result.
#include <algorithm>
#include <boost/asio/post.hpp>

#include "poller/broker/redis_mailbox.hpp"
#include "poller/broker/redis_scripts.hpp"
#include "poller/mailbox/envelopes.hpp"
#include "poller/mailbox/letter.hpp"

namespace inbox_poller::poller {

using schema::MessageKey;

namespace {

constexpr const char* post_mark_kept_ms = "2592000000";  // 30 days, renewed while the message is tracked

bool is_in_stream(WriteStatus put) { return put == WriteStatus::done || put == WriteStatus::unchanged; }

}  // namespace

WriteReceipt RedisMailbox::why_not(const Error& error) {
  const bool in_the_way = error.code == "redis.denied" || error.code == "redis.unfit" ||
                          error.message.find("WRONGTYPE") != std::string::npos;
  return {in_the_way ? WriteStatus::blocked : WriteStatus::fault, error.message};
}

std::vector<WriteReceipt> RedisMailbox::job(const std::string& name, std::size_t count, Work work) {
  if (away_) return std::vector<WriteReceipt>(count, why_not(*away_));
  const std::lock_guard lock(jobs_lock_);
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& one) { return one.name == name; });
  if (found != jobs_.end() && found->results) {
    std::vector<WriteReceipt> results = *std::move(found->results);
    jobs_.erase(found);
    return results;
  }
  if (found == jobs_.end()) jobs_.push_back({name, std::move(work), {}});
  if (!std::exchange(is_carrying_, true)) boost::asio::post(thread_, [this] { carry(); });
  return std::vector<WriteReceipt>(count, WriteReceipt{WriteStatus::busy, "Redis has not answered yet"});
}

void RedisMailbox::carry() {
  for (;;) {
    Job* next = nullptr;
    {
      const std::lock_guard lock(jobs_lock_);
      const auto found = std::find_if(jobs_.begin(), jobs_.end(), [](const Job& one) { return !one.results; });
      is_carrying_ = found != jobs_.end();
      if (!is_carrying_) return;
      next = &*found;  // a list element; not moved or erased before it has results
    }
    std::vector<WriteReceipt> results = next->work();
    const std::lock_guard lock(jobs_lock_);
    next->results = std::move(results);
  }
}

WriteReceipt RedisMailbox::append(const std::string& inbox, const schema::Envelope& letter, const std::string& bytes) {
  const std::string id = letter.text("id"), from = letter.text("from"), ts(letter.raw("ts"));
  const auto ms = static_cast<long long>(letter.number("ts").value_or(0) * 1000);
  const auto sent = redis_.call(scripts::send(), {mark_of(inbox, {id}), stream_of(inbox), keys_.of("boxes")},
                                {inbox, from, post_mark_kept_ms, "k", id, "f", from, "y", letter.text("type"), "q", "",
                                 "e", bytes, "t", std::to_string(ms), "s", ts});
  if (!sent) return why_not(sent.error());
  return {sent->at(0).as_number() > 0 ? WriteStatus::done : WriteStatus::unchanged, {}};
}

std::vector<WriteReceipt> RedisMailbox::post(const std::string& inbox, std::span<const schema::Message> messages) {
  std::vector<WriteReceipt> results(messages.size());
  if (!is_actor_name(inbox) || inbox == settings_.lead) {
    results.assign(messages.size(), {WriteStatus::refused, "'" + inbox + "' cannot be an actor's name: use A-Z a-z 0-9 _ -, at most 64 characters"});
    return results;
  }
  std::vector<std::size_t> places;  // indexes of the messages that can be written
  std::vector<std::pair<schema::Envelope, std::string>> letters;
  std::vector<MessageKey> keys;
  std::string name = "post " + inbox;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const schema::Message& one = messages[i];
    const MessageKey key = schema::make_message_key({settings_.team, inbox}, one.from, one.timestamp, one.text, 0);
    auto letter = letter_of(one, inbox, key.value);
    std::string bytes = letter ? letter->encode() : std::string();
    const Status fits = letter ? require_size_of(bytes) : Status(letter.error());
    if (!fits.ok()) {
      results[i] = {WriteStatus::refused, fits.error().message};
      continue;
    }
    places.push_back(i);
    keys.push_back(key);
    name += ' ' + key.value;
    letters.emplace_back(*std::move(letter), std::move(bytes));
  }
  if (letters.empty()) return results;
  const std::size_t count = letters.size();
  auto told = job(name, count, [this, inbox, all = std::move(letters)] {
    std::vector<WriteReceipt> each;
    for (const auto& [letter, bytes] : all)
      each.push_back(each.empty() || is_in_stream(each.back().put) ? append(inbox, letter, bytes) : each.back());
    return each;
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (is_in_stream(told[i].put)) tracked_[inbox][keys[i]] = ReadStatus::waiting;
    results[places[i]] = std::move(told[i]);
  }
  meet(inbox);
  return results;
}

void RedisMailbox::track(const std::string& inbox, const MessageKey& key) {
  tracked_[inbox].try_emplace(key, ReadStatus::waiting);
}

ReadStatus RedisMailbox::read_status(const std::string& inbox, const MessageKey& key) const {
  const auto box = tracked_.find(inbox);
  if (box == tracked_.end()) return ReadStatus::waiting;
  const auto tracked = box->second.find(key);
  return tracked == box->second.end() ? ReadStatus::waiting : tracked->second;
}

void RedisMailbox::untrack(const std::string& inbox, const MessageKey& key) {
  if (const auto box = tracked_.find(inbox); box != tracked_.end()) box->second.erase(key);
}

WriteReceipt RedisMailbox::recall(const std::string& inbox, std::span<const MessageKey> keys) {
  std::vector<std::string> names{stream_of(inbox)};
  std::string name = "retract " + inbox;
  for (const MessageKey& key : keys) {
    names.push_back(mark_of(inbox, key));
    name += ' ' + key.value;
  }
  Work work = [this, inbox, names]() -> std::vector<WriteReceipt> {
    const auto done = redis_.call(scripts::recall(), names, {});
    if (!done) return {why_not(done.error())};
    return {done->as_number() == 1 ? WriteReceipt{} : WriteReceipt{WriteStatus::gone, "no message was ever written to " + inbox}};
  };
  return job(name, 1, std::move(work)).front();
}

}  // namespace inbox_poller::poller
