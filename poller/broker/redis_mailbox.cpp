#include "poller/broker/redis_mailbox.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/json.hpp>
#include <charconv>

#include "poller/broker/redis_scripts.hpp"
#include "poller/mailbox/envelopes.hpp"
#include "poller/mailbox/letter.hpp"
#include "poller/pause.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {

namespace asio = boost::asio;
using schema::MessageKey;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds call_patience{900};  // longest delay of this team's poll by one call
constexpr const char* an_offer_ms = "10000";
constexpr const char* most_boxes = "500";
constexpr const char* bytes_a_piece = "8388608";
constexpr const char* most_pending = "10000";
constexpr const char* mark_kept_ms = "2592000000";  // 30 days, renewed while the message is tracked
constexpr const char* read_kept_ms = "604800000";  // 7 days
constexpr std::chrono::hours resent_within{1};
constexpr std::size_t at_once = 500;

/// Parses an entry id, "ms-number", because ids are ordered as numbers and not as text.
std::pair<unsigned long long, unsigned long long> place_in_stream(const std::string& id) {
  std::pair<unsigned long long, unsigned long long> place{0, 0};
  const char* const end = id.data() + id.size();
  const auto ms = std::from_chars(id.data(), end, place.first);
  if (ms.ptr != end && *ms.ptr == '-') std::from_chars(ms.ptr + 1, end, place.second);
  return place;
}
bool is_later(const std::string& one, const std::string& other) { return place_in_stream(one) > place_in_stream(other); }

bool takes(Access reader) { return reader == Access::exclusive || reader == Access::shared; }

}  // namespace

RedisMailbox::RedisMailbox(const Clock& clock, RedisTeamSettings settings)
    : clock_(clock),
      settings_(std::move(settings)),
      keys_(settings_.address.team),
      place_(settings_.address.shown()),
      away_(Error{"redis.down", "Redis at " + place_ + " was not reached yet"}),
      redis_(settings_.address, call_patience),
      tasks_(redis_, keys_, place_, settings_.tasks) {}

RedisMailbox::~RedisMailbox() {
  if (bell_) bell_->rest();
  thread_.join();  // a call in progress ends at its deadline
}

std::string RedisMailbox::location(const std::string& name) const { return place_ + "/" + name; }

// --- scan

asio::awaitable<void> RedisMailbox::sync() {
  {
    const std::lock_guard lock(jobs_lock_);  // a caller that still waits calls again
    jobs_.remove_if([](const Job& job) { return job.results.has_value(); });
  }
  Wanted wanted;
  wanted.tasks = look_at_tasks_.take(clock_.steady());
  wanted.sweep = std::exchange(sweep_wanted_, false);
  wanted.finished_since_ms = finished_since_ms_;
  std::function<Scan()> work = [this, wanted] { return scan(wanted); };
  Scan found = co_await offload(&thread_, std::move(work));
  adopt(std::move(found));
  const auto executor = co_await asio::this_coro::executor;
  if (ring_ && !bell_)
    bell_ = std::make_unique<RedisBell>(executor, settings_.address, stream_of(settings_.lead), ring_);
  if (bell_) bell_->listen("$");  // the next scan finds entries that arrive between two reads
}

RedisMailbox::Scan RedisMailbox::scan(const Wanted& wanted) {
  Scan found;
  const auto boxes = redis_.call(scripts::boxes(), {keys_.of("boxes"), keys_.of("served:" + settings_.lead)},
                                 {keys_.of("in:"), ':' + std::string(RedisKeys::shared_box),
                                  settings_.writes ? settings_.lead : std::string(), most_boxes, settings_.reader,
                                  std::to_string(settings_.served_for.count())});
  if (!boxes) {
    found.failed = boxes.error();
    return found;
  }
  if (!boxes->text.empty()) {
    found.failed = Error{"redis.served", "another daemon (" + boxes->text + ") delivers the mail of " + settings_.lead + " at " +
                                                place_ + ": nothing is taken here until it has been gone for " +
                                                std::to_string(settings_.served_for.count() / 1000) + " s"};
    return found;
  }
  for (const RedisReply& one : boxes->parts) {
    State state;
    if (one.parts.size() == 2) state.wrong = "the Redis key " + stream_of(one.at(0).text) + " does not hold a stream: " + one.at(1).text;
    if (one.parts.size() > 2)
      state = {one.at(1).text, one.at(2).as_number(), one.at(3).as_number(), one.at(4).text, {}};
    found.boxes.emplace_back(one.at(0).text, std::move(state));
  }
  found.worries = redis_.connection().facts().worries();
  if (wanted.tasks || wanted.sweep) scan_tasks(wanted, found);
  return found;
}

void RedisMailbox::scan_tasks(const Wanted& wanted, Scan& found) {
  if (wanted.sweep) {
    auto swept = tasks_.sweep();
    if (!swept) found.swept.troubles.push_back(swept.error());
    if (swept) found.swept = *std::move(swept);
  }
  const auto counts = tasks_.counts();
  if (!counts) return;
  found.counts = *counts;
  if (wanted.finished_since_ms < 0 || counts->done == done_then_) return;
  const auto done = tasks_.done_since(wanted.finished_since_ms);
  if (!done) return;
  done_then_ = counts->done;
  std::set<std::string> names;
  for (const TaskFile& one : *done) {
    names.insert(one.name);
    if (!told_finished_.contains(one.name)) found.finished.push_back(one);
  }
  told_finished_ = std::move(names);
}

void RedisMailbox::adopt(Scan found) {
  away_ = std::move(found.failed);
  if (away_) return;
  std::map<std::string, State> states;
  for (auto& [name, state] : found.boxes) {
    meet(name);
    const auto box = boxes_.find(name);
    const auto before = states_.find(name);
    // Redis was restored from an older copy, so acknowledged entries may be unread again.
    if (box != boxes_.end() && before != states_.end() && is_later(before->second.delivered, state.delivered)) rewind(name);
    states.emplace(name, std::move(state));
  }
  for (const auto& [name, before] : states_)
    if (!states.contains(name) && boxes_.contains(name) && before != State()) rewind(name);  // emptied
  states_ = std::move(states);
  worries_.clear();
  for (const std::string& one : found.worries) worries_ += (worries_.empty() ? "" : "; ") + one;
  if (found.counts) counts_ = found.counts;
  swept_.troubles = std::move(found.swept.troubles);
  std::move(found.swept.gone.begin(), found.swept.gone.end(), std::back_inserter(swept_.gone));
  std::move(found.finished.begin(), found.finished.end(), std::back_inserter(finished_));
}

/// True if the inbox may have something new for its reader. An exclusive or shared reader must see every entry that is
/// not acknowledged; other readers must see every change.
bool RedisMailbox::is_changed(const std::string& name) const {
  const auto found = boxes_.find(name);
  const auto now = states_.find(name);
  const State state = now == states_.end() ? State() : now->second;
  const auto ours = tracked_.find(name);
  const bool follows =
      ours != tracked_.end() && std::any_of(ours->second.begin(), ours->second.end(),
                                            [](const auto& one) { return one.second == ReadStatus::waiting; });
  // Messages of an earlier process may be lost together with the inbox.
  if (found == boxes_.end() || !found->second.seen) return follows || state != State();
  const Box& one = found->second;
  if (one.goes_on || one.left_out) return true;
  if (!takes(one.reader)) return state != *one.seen;
  return state.rest != 0 || !state.wrong.empty() || state.pending != static_cast<long long>(one.left.size());
}

Result<std::span<const ReadyBox>> RedisMailbox::ready_boxes() {
  if (away_) return *away_;
  ready_.clear();
  for (const std::string& name : names_)
    if (is_actor_name(name)) ready_.push_back({name, is_changed(name)});
  return std::span<const ReadyBox>(ready_);
}

// --- reading

RedisMailbox::Entry RedisMailbox::entry_of(const std::string& box, const RedisReply& reply) const {
  Entry entry{reply.at(0).text, reply.at(1).text, {}, {}, false};
  const schema::KeyScope scope{settings_.team, box};
  const auto letter = schema::Envelope::decode(entry.bytes);
  if (!letter) {
    entry.key = schema::make_bad_entry_key(scope, entry.id + '\n' + entry.bytes, 0);
    return entry;
  }
  entry.from = letter->text("from");
  const std::string id = schema::identity_of(*letter);
  // Without an id, two entries with the same content are two messages.
  entry.key = key_of_letter(scope, *letter,
                            letter->text("id").empty() ? "sha256:" + schema::content_hash(entry.id + '\n' + id) : id,
                            settings_.lead);
  return entry;
}

RedisMailbox::Piece RedisMailbox::read(const PieceWanted& wanted) {
  Piece piece;
  const std::string stream = stream_of(wanted.box);
  const auto fail = [&](const Error& why) {
    piece.failed = why;
    return piece;
  };
  if (wanted.pending) {
    const auto pending = redis_.call(RedisCommand{"XPENDING", stream, "g", "-", "+", most_pending});
    if (!pending) return fail(pending.error());
    for (const RedisReply& one : pending->parts) piece.pending.insert(one.at(0).text);
  }
  for (std::size_t from = 0; from < wanted.tracked.size(); from += at_once) {
    std::vector<std::string> keys{stream};
    for (std::size_t i = from; i < std::min(from + at_once, wanted.tracked.size()); ++i)
      keys.push_back(mark_of(wanted.box, wanted.tracked[i]));
    const auto read_statuses = redis_.call(scripts::read_statuses(), keys, {mark_kept_ms});
    if (!read_statuses) return fail(read_statuses.error());
    for (const RedisReply& one : read_statuses->parts)
      piece.read_statuses.push_back(one.text == "lost"    ? ReadStatus::lost
                                    : one.text == "taken" ? ReadStatus::consumed
                                                          : ReadStatus::waiting);
  }
  const auto some = redis_.call(scripts::show(), {stream},
                                {wanted.owns ? settings_.reader : std::string(), an_offer_ms, wanted.from,
                                 std::to_string(wanted.most), bytes_a_piece, std::to_string(most_envelope_bytes)});
  if (!some) return fail(some.error());
  piece.more = some->at(0).as_number() == 1;
  piece.left_out = some->at(1).text;
  for (std::size_t i = 2; i < some->parts.size(); ++i) piece.entries.push_back(entry_of(wanted.box, some->at(i)));
  return piece;
}

asio::awaitable<Batch> RedisMailbox::receive(std::string name, Access reader, std::size_t most) {
  Batch batch;
  Box& one = boxes_[name];
  if ((one.reader == Access::peek) != (reader == Access::peek)) {
    rewind(name);
    one.known.clear();
  }
  one.reader = reader;
  one.piece.clear();
  const auto fail = [&](const std::string& why) {
    batch.state = BoxState::fault;
    batch.detail = why;
    one.goes_on = false;
  };
  if (away_) fail(away_->message);
  if (away_ || !names_.contains(name)) co_return batch;
  for (bool whole = false; !whole;) {
    const bool begins = !one.goes_on;
    const auto state = states_.find(name);
    if (begins) one.looked = state == states_.end() ? State() : state->second;
    PieceWanted wanted;
    wanted.box = name;
    wanted.from = begins ? one.floor : one.cursor;
    wanted.owns = takes(reader) && settings_.writes;
    wanted.pending = begins && one.looked.pending > 0 && !(one.known.empty() && one.left.empty());
    wanted.most = most;
    if (begins && !takes(reader))
      for (const auto& [key, read_status] : tracked_[name])
        if (read_status == ReadStatus::waiting) wanted.tracked.push_back(key);
    std::function<Piece()> work = [this, wanted] { return read(wanted); };
    Piece piece = co_await offload(&thread_, std::move(work));
    if (piece.failed) {
      if (piece.failed->code == "redis.down") away_ = piece.failed;
      fail(piece.failed->message);
      co_return batch;
    }
    for (std::size_t i = 0; i < piece.read_statuses.size(); ++i)
      if (const auto tracked = tracked_[name].find(wanted.tracked[i]); tracked != tracked_[name].end())
        tracked->second = piece.read_statuses[i];
    if (begins) begin_look(one, piece, batch);
    whole = show(name, one, piece, batch);
  }
  batch.state = BoxState::open;
  batch.detail = worries_;
  co_return batch;
}

void RedisMailbox::begin_look(Box& one, const Piece& piece, Batch& batch) {
  const auto now = clock_.steady();
  one.left_out = false;
  one.floor_rises = true;
  const auto is_read = [&](const std::string& id) {
    return !is_later(id, one.looked.delivered) && !piece.pending.contains(id);
  };
  const bool watches = one.reader == Access::observe || one.reader == Access::shared;
  for (const auto& [id, known] : one.known)
    if (watches && is_read(id))
      batch.signs.push_back({ConsumerEvidence::What::consumed, known.key, std::chrono::duration_cast<milliseconds>(now - known.since)});
  std::erase_if(one.known, [&](const auto& known) { return is_read(known.first); });
  std::erase_if(one.left, [&](const std::string& id) { return is_read(id); });
  std::erase_if(one.taken, [&](const auto& taken) { return now - taken.second > resent_within; });
  const State& seen = one.looked;
  batch.size.entries = batch.size.unread =
      seen.rest < 0 ? one.known.size() : static_cast<std::size_t>(std::max(seen.pending + seen.rest, 0LL));
}

/// Adds one piece to the batch. False if the piece had nothing to return and the pass is not complete.
bool RedisMailbox::show(const std::string& name, Box& one, Piece& piece, Batch& batch) {
  one.piece = std::move(piece.entries);
  if (!piece.left_out.empty()) one.left_out = true;
  for (Entry& entry : one.piece) {
    one.cursor = entry.id;
    if (!piece.left_out.empty() && is_later(entry.id, piece.left_out)) one.floor_rises = false;
    one.known.try_emplace(entry.id, Known{entry.key, clock_.steady(), clock_.wall_ms()});
    if (one.left.contains(entry.id)) {
      entry.skipped = true;
      continue;
    }
    if (name != settings_.lead || !settings_.members.empty() || entry.from.empty()) continue;
    if (meet(entry.from)) newcomers_.insert(entry.from);
    if (newcomers_.contains(entry.from)) {  // members from the next poll on, so their messages are not from a stranger
      entry.skipped = true;
      one.left_out = true;
      one.floor_rises = false;
    }
  }
  for (const Entry& entry : one.piece)
    if (!entry.skipped) batch.taken.push_back({entry.key, entry.bytes, false});
  for (const auto& [id, known] : one.known)
    batch.size.oldest_unread_ms =
        batch.size.oldest_unread_ms == 0 ? known.first_ms : std::min(batch.size.oldest_unread_ms, known.first_ms);
  batch.more = one.goes_on = piece.more;
  return !batch.taken.empty() || !piece.more;
}

std::optional<Error> RedisMailbox::ack_entries(const std::string& box, const std::vector<std::string>& consumed,
                                    const std::vector<std::string>& freed) {
  const std::string stream = stream_of(box);
  if (!consumed.empty()) {
    std::vector<std::string> arguments{read_kept_ms};
    arguments.insert(arguments.end(), consumed.begin(), consumed.end());
    TRY(redis_.call(scripts::ack(), {stream}, arguments));
  }
  if (freed.empty()) return std::nullopt;
  RedisCommand claim{"XCLAIM", stream, "g", settings_.reader, "0"};
  claim.insert(claim.end(), freed.begin(), freed.end());
  claim.insert(claim.end(), {"TIME", "0", "JUSTID"});  // idle since 1970, so the next reader may claim them at once
  const auto done = redis_.call(claim);
  return done ? std::nullopt : std::optional(done.error());
}

asio::awaitable<Settled> RedisMailbox::ack(std::string name, std::vector<Ack> disposals) {
  Settled result;
  const auto found = boxes_.find(name);
  if (found == boxes_.end()) co_return result;
  Box& one = found->second;
  const std::vector<Entry> piece = std::exchange(one.piece, {});
  std::vector<std::string> consumed, freed, through;
  std::size_t next = 0;
  for (const Entry& entry : piece) {
    const bool over = !entry.skipped && next >= disposals.size();
    const auto how = entry.skipped || over ? Ack::skip : disposals[next++];
    if (how == Ack::ack && takes(one.reader)) consumed.push_back(entry.id);
    if (how != Ack::ack && takes(one.reader)) freed.push_back(entry.id);
    if (how == Ack::requeue || over) {
      one.left_out = true;
      one.floor_rises = false;
    } else if (how == Ack::skip && !entry.skipped) {
      one.left.insert(entry.id);
    }
    if (one.floor_rises) through.push_back(entry.id);
  }
  std::optional<Error> failed;
  if (!consumed.empty() || !freed.empty()) {
    std::function<std::optional<Error>()> work = [this, name, consumed, freed] { return ack_entries(name, consumed, freed); };
    failed = co_await offload(&thread_, std::move(work));
  }
  if (failed) {
    result = {why_not(*failed), 0};
    one.left_out = true;  // returned again, recognized as known, and acknowledged
    one.goes_on = false;
    if (failed->code == "redis.down") away_ = failed;
    co_return result;
  }
  result.consumed = consumed.size();
  for (const Entry& entry : piece) {
    if (!std::binary_search(consumed.begin(), consumed.end(), entry.id, [](const auto& a, const auto& b) { return is_later(b, a); }))
      continue;
    one.known.erase(entry.id);
    one.taken[entry.key] = clock_.steady();
  }
  if (!through.empty()) one.floor = through.back();
  if (!one.goes_on) one.seen = one.looked;
  co_return result;
}

void RedisMailbox::rewind(const std::string& name) {
  const auto found = boxes_.find(name);
  if (found == boxes_.end()) return;
  Box& one = found->second;
  one.left.clear();
  one.floor.clear();
  one.goes_on = false;
  one.seen.reset();
}

Result<Decoded> RedisMailbox::decode(std::string_view bytes) const { return decode_letter(bytes, settings_.lead); }

std::function<bool(const MessageKey&)> RedisMailbox::referenced(const std::string& name) const {
  auto keys = std::make_shared<std::set<MessageKey>>();
  if (const auto found = boxes_.find(name); found != boxes_.end()) {
    for (const auto& [id, known] : found->second.known) keys->insert(known.key);
    for (const auto& [key, since] : found->second.taken) keys->insert(key);
  }
  return [keys](const MessageKey& key) { return keys->contains(key); };
}

asio::awaitable<Expunged> RedisMailbox::expunge(std::string, RetentionPolicy) {
  Expunged nothing;  // ack() trims acknowledged entries by age
  nothing.put = WriteStatus::unchanged;
  co_return nothing;
}

}  // namespace inbox_poller::poller
