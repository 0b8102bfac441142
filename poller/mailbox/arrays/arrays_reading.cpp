// Reading, marking and trimming of array inboxes; posting and the roster are in arrays_mailbox.cpp. A reading is of
// one version of the file and is shown piece by piece. The flags of a window are set when all of its entries are
// acknowledged.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "poller/mailbox/arrays/array_entry.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t big_file = std::uint64_t{2} << 20;     // bytes; larger files are read on the pool
constexpr std::uint64_t big_rewrite = std::uint64_t{1} << 20;  // bytes; larger files are read and written on the pool
constexpr int reads_a_look = 4;                                // reads of a torn file in one scan
constexpr int lock_rounds = 20;
constexpr int trim_rounds = 8;  // after the first, each takes a few milliseconds
constexpr std::size_t marks_at_once = 128;
constexpr std::size_t marks_by_replacement = 512;  // of a window; among so many, one needs it anyway
constexpr std::chrono::seconds overtaken_within{10};  // a lead polls every second, and a lock is stale after ten
constexpr std::chrono::hours trimmed_is_recent{2};    // a peer may put an older copy of the file back

/// Combines the results of two changes made one after the other.
WriteResult with_marks_of(const WriteResult& before, WriteResult then) {
  if (then.outcome == WriteOutcome::already_there) then.outcome = WriteOutcome::done;
  then.marked += before.marked;
  if (then.detail.empty()) then.detail = before.detail;
  return then;
}

bool may_pass_by_itself(ReadOutcome outcome) {
  return outcome == ReadOutcome::torn || outcome == ReadOutcome::empty || outcome == ReadOutcome::lock_held;
}

bool is_unread(const InboxEntry& entry) { return entry.read != ReadFlag::read; }

/// True for an unread object; an entry of another type has no flag to set.
bool can_be_marked(const InboxDocument& document, const InboxEntry& entry) {
  return is_unread(entry) && document.entry_bytes(entry).starts_with('{');
}

}  // namespace

Result<std::span<const ReadyBox>> ArraysMailbox::ready_boxes() {
  const auto glances = inboxes_.glances();
  is_idle_ = glances && all_told_ && inboxes_.rest();
  if (!glances) return glances.error();
  if (is_idle_) return std::span<const ReadyBox>(ready_);
  ready_.clear();
  for (const InboxGlance& one : *glances) {
    const auto box = boxes_.find(one.inbox);
    const bool unfinished = box != boxes_.end() && box->second.unfinished;
    ready_.push_back({one.inbox, unfinished || one.result.glance == Glance::changed});
  }
  for (auto& [inbox, box] : boxes_) box.scan.reset();  // a poll begins: no caller holds a piece of it any more
  const auto is_listed = [&](const std::string& inbox) {
    return std::binary_search(ready_.begin(), ready_.end(), ReadyBox{inbox},
                              [](const ReadyBox& a, const ReadyBox& b) { return a.box < b.box; });
  };
  for (const auto& [inbox, posted] : posted_)
    if (!is_listed(inbox)) tell_fates(inbox, nullptr);
  std::erase_if(boxes_, [&](const auto& box) {
    const bool gone = !is_listed(box.first);
    if (gone) inboxes_.forget(box.first);
    return gone;
  });
  all_told_ = std::none_of(ready_.begin(), ready_.end(), [](const ReadyBox& one) { return one.changed; });
  return std::span<const ReadyBox>(ready_);
}

void ArraysMailbox::forget(const std::string& inbox) {
  inboxes_.forget(inbox);
  boxes_.erase(inbox);
}

void ArraysMailbox::rewind(const std::string& inbox) {
  all_told_ = false;
  const auto box = boxes_.find(inbox);
  if (box == boxes_.end()) return;
  box->second.settled.clear();
  box->second.owed.clear();
  box->second.rewound = true;
  box->second.unfinished = true;
  if (auto& scan = box->second.scan) scan->is_over = true;  // a caller may still hold views of its bytes
}

Result<Decoded> ArraysMailbox::decode(std::string_view bytes) const { return decode_whole_entry(bytes); }

asio::awaitable<Batch> ArraysMailbox::receive(std::string inbox, Access reader, std::size_t most) {
  const auto known = boxes_.find(inbox);
  // A message seen with Access::peek is new to the owner, and the other way round.
  if (known != boxes_.end() && (known->second.reader == Access::peek) != (reader == Access::peek))
    forget(inbox);
  Batch batch;
  if (auto& box = boxes_[inbox]; box.scan && box.scan->is_settled && !box.scan->is_over) {
    Scan& scan = *box.scan;
    if (scan.window == scan.at_hand || inboxes_.show(scan.reading, scan.window)) {
      scan.at_hand = scan.window;
      show_some(box, most, batch);
    } else {
      box.scan.reset();
      batch.state = BoxState::torn;
      batch.detail = inboxes_.path_of(inbox) + " was rewritten while it was read";
    }
    co_return batch;
  }
  boxes_[inbox].scan.reset();
  auto reading = co_await read_patiently(inbox, reader);
  batch.state = state_of(reading.outcome);
  batch.detail = reading.detail;
  if (batch.state == BoxState::open) tell_fates(inbox, &reading);
  if (batch.state == BoxState::missing) tell_fates(inbox, nullptr);
  if (batch.state == BoxState::missing || batch.state == BoxState::not_regular) forget(inbox);
  auto& box = boxes_[inbox];
  box.reader = reader;
  box.unfinished = reader != Access::peek;  // a peeking reader returns when the box changes
  if (reader != Access::peek) note_damage(box, reading, batch);
  if (batch.state != BoxState::open && batch.state != BoxState::torn) co_return batch;
  batch.size.entries = reading.skipped + reading.document.entries().size();
  batch.size.unread =
      static_cast<std::size_t>(std::count_if(reading.document.entries().begin(), reading.document.entries().end(),
                                             [](const auto& entry) { return entry.read != ReadFlag::read; }));
  batch.size.bytes = reading.windows.empty() ? 0 : reading.windows.back().bytes.end;
  if (batch.state == BoxState::open && reader != Access::peek) look_for_others(box, reading, batch);
  box.scan = Scan{};
  box.scan->reading = std::move(reading);
  if (batch.state == BoxState::open) {
    box.scan->is_rewound = box.rewound;
    box.scan->next = box.scan->reading.windows.front().first;
    show_some(box, most, batch);
  } else {
    box.scan->is_settled = false;
    const auto& document = box.scan->reading.document;
    batch.damaged = document.bytes();
    for (const auto& entry : document.entries())
      batch.taken.push_back({entry.key, document.entry_bytes(entry), entry.read == ReadFlag::read});
  }
  co_return batch;
}

asio::awaitable<ReadResult> ArraysMailbox::read_once(std::string inbox, std::uint64_t size, ReadMode mode) {
  if (size < big_file || settings_.pool == nullptr) co_return inboxes_.read_news(inbox, mode);
  auto work = [this, inbox, mode] { return inboxes_.read_news(inbox, mode); };
  co_return co_await offload(settings_.pool, std::move(work));
}

asio::awaitable<ReadResult> ArraysMailbox::read_patiently(std::string inbox, Access reader) {
  const bool may_lock = reader == Access::exclusive || reader == Access::shared;
  const int reads = reader == Access::peek ? 1 : reads_a_look;
  const auto size = inboxes_.size_of(inbox);
  ReadResult result;
  for (int attempt = 0; attempt < reads; ++attempt) {
    // A rename or a small write ends at once. A writer that is still active gets more time with each attempt.
    if (attempt > 0) co_await pause_jittered(attempt * milliseconds(2), attempt * attempt * milliseconds(5));
    // The last read is under the lock, so that no peer that takes the lock is writing meanwhile.
    const auto mode = attempt + 1 < reads_a_look || !may_lock ? ReadMode::unlocked : ReadMode::under_lock;
    result = co_await read_once(inbox, size, mode);
    if (!may_pass_by_itself(result.outcome)) break;
  }
  co_return result;
}

void ArraysMailbox::note_damage(Box& box, const ReadResult& reading, Batch& batch) const {
  const bool may_pass = may_pass_by_itself(reading.outcome);
  const auto seen = may_pass ? std::hash<std::string_view>{}(reading.document.bytes()) : std::size_t{0};
  if (!may_pass || seen != box.damage) box.damaged_looks = 0;  // different damage is a new case
  if (may_pass) ++box.damaged_looks;
  box.damage = seen;
  batch.damaged_looks = box.damaged_looks;
}

void ArraysMailbox::look_for_others(Box& box, const ReadResult& reading, Batch& batch) {
  const auto sighting = box.others.look(reading.document, clock_.wall_ms(), {reading.knew, reading.skipped});
  for (const auto& key : sighting.flipped) batch.signs.push_back({ConsumerEvidence::What::flipped, key, {}});
  if (sighting.swept) batch.signs.push_back({ConsumerEvidence::What::swept, {}, {}});
  if (box.reader == Access::shared) overtaken(box, reading.document, sighting, batch);
  for (const auto& one : sighting.consumed)
    batch.signs.push_back({ConsumerEvidence::What::consumed, one.key, milliseconds(one.waited_ms)});
  batch.size.oldest_unread_ms = box.others.waiting().oldest_ms;
}

void ArraysMailbox::overtaken(Box& box, const InboxDocument& document, const OtherConsumers::Observation& sighting,
                              Batch& batch) {
  // Old clients read, then lock, mark and rewrite the whole file. Suppose such a rewrite changes only the format of
  // our mark. The lead then had an entry to mark, which it had read as unread: the one that we marked.
  const auto now = clock_.steady();
  std::erase_if(box.marked, [now](const auto& one) { return now - one.second > overtaken_within; });
  const auto& entries = document.entries();
  const bool may_have_other_reasons =
      !sighting.consumed.empty() || !sighting.flipped.empty() ||
      std::any_of(entries.begin(), entries.end(), [](const auto& entry) { return entry.read != ReadFlag::read; });
  for (const auto& entry : entries) {
    const auto marked = box.marked.find(entry.key.value);
    if (marked == box.marked.end() || entry.in_place) continue;
    const auto since = std::chrono::duration_cast<milliseconds>(now - marked->second);
    if (!may_have_other_reasons) batch.signs.push_back({ConsumerEvidence::What::consumed, entry.key, since});
    box.marked.erase(marked);
  }
}

bool ArraysMailbox::was_shown(const Box& box, const InboxEntry& entry) {
  return (entry.known && !box.scan->is_rewound) || box.settled.contains(entry.key);
}

bool ArraysMailbox::is_owed(const Box& box, const InboxEntry& entry) {
  const bool by_head = entry.known && box.reader == Access::exclusive && !box.scan->is_rewound;
  return by_head || box.owed.contains(entry.key);
}

void ArraysMailbox::show_some(Box& box, std::size_t most, Batch& batch) {
  Scan& scan = *box.scan;
  const InboxDocument& document = scan.reading.document;
  const Window& window = scan.reading.windows[scan.window];
  batch.state = BoxState::open;
  scan.is_settled = false;
  for (; scan.next < window.last && scan.shown.size() < most; ++scan.next) {
    const InboxEntry& entry = document.entries()[scan.next];
    if (!was_shown(box, entry)) {
      scan.shown.push_back(scan.next);
      batch.taken.push_back({entry.key, document.entry_bytes(entry), entry.read == ReadFlag::read});
    } else if (can_be_marked(document, entry) && is_owed(box, entry)) {
      scan.to_mark.push_back(scan.next);
    }
  }
  batch.more = scan.next < window.last || scan.window + 1 < scan.reading.windows.size();
}

asio::awaitable<Settled> ArraysMailbox::ack(std::string inbox, std::vector<Ack> disposals) {
  const auto found = boxes_.find(inbox);
  if (found == boxes_.end() || !found->second.scan || found->second.scan->is_settled) co_return Settled{};
  Box& box = found->second;
  Scan& scan = *box.scan;
  if (scan.is_over) co_return Settled{{WriteStatus::busy, {}}, 0};
  InboxDocument& document = scan.reading.document;
  scan.is_settled = true;
  std::vector<Fingerprint> settled;
  std::vector<Fingerprint> owed;
  for (std::size_t i = 0; i < std::min(disposals.size(), scan.shown.size()); ++i) {
    scan.leaves_some = scan.leaves_some || disposals[i] == Ack::requeue;
    if (disposals[i] == Ack::requeue) continue;
    const InboxEntry& entry = document.entries()[scan.shown[i]];
    settled.push_back(fingerprint(entry.key));
    if (disposals[i] != Ack::ack) continue;
    owed.push_back(settled.back());
    if (can_be_marked(document, entry)) scan.to_mark.push_back(scan.shown[i]);
  }
  box.settled.add(std::move(settled));
  box.owed.add(std::move(owed));
  scan.shown.clear();
  if (scan.next < scan.reading.windows[scan.window].last) co_return Settled{};

  const bool is_last = scan.window + 1 == scan.reading.windows.size();
  WriteResult result = co_await mark(inbox, box);
  if (is_last && result.outcome == WriteOutcome::done && !scan.to_replace.empty())
    result = with_marks_of(result, co_await mark_by_replacement(inbox, box));
  scan.leaves_some = scan.leaves_some || put_of(result.outcome) != WriteStatus::done;
  Settled told{{put_of(result.outcome), result.detail}, result.marked};
  const std::size_t known = inboxes_.remember(inbox, scan.reading, scan.window);
  if (is_last) {
    finish(box, known);
    co_return told;
  }
  scan.next = scan.reading.windows[++scan.window].first;
  co_return told;
}

void ArraysMailbox::finish(Box& box, std::size_t known) {
  const InboxDocument& document = box.scan->reading.document;
  std::vector<Fingerprint> settled;
  std::vector<Fingerprint> owed;
  for (std::size_t i = 0; i < document.entries().size(); ++i) {
    const InboxEntry& entry = document.entries()[i];
    if (i >= known && was_shown(box, entry)) settled.push_back(fingerprint(entry.key));
    // The head covered these entries until a peer took our flag back; from now on `owed` lists them.
    if ((i >= known || box.reader == Access::shared) && is_owed(box, entry))
      owed.push_back(fingerprint(entry.key));
  }
  box.settled = KeySet(std::move(settled));
  // With shared access, entries in the skipped part stay owed, because a peer may take our flag back.
  if (box.reader != Access::shared || box.scan->reading.skipped == 0) box.owed = KeySet(std::move(owed));
  box.others.leave_to_mailbox(document, known);
  if (box.scan->is_rewound) box.rewound = false;
  box.unfinished = box.scan->leaves_some;
  box.scan.reset();
}

void ArraysMailbox::note_mark(Box& box, const schema::MessageKey& key) const {
  box.others.marked_by_us(key);
  if (box.reader == Access::shared) box.marked[key.value] = clock_.steady();
}

asio::awaitable<WriteResult> ArraysMailbox::mark(std::string inbox, Box& box) {
  Scan& scan = *box.scan;
  InboxDocument& document = scan.reading.document;
  scan.replaces_all = scan.replaces_all || (scan.to_mark.size() > marks_by_replacement && may_replace(box));
  std::vector<std::size_t> in_place;
  for (const std::size_t index : std::exchange(scan.to_mark, {})) {
    if (document.entries()[index].read == ReadFlag::read)
      box.others.marked_by_us(document.entries()[index].key);
    else if (!scan.replaces_all && document.can_mark_in_place(index))
      in_place.push_back(index);
    else
      scan.to_replace.push_back(index);
  }
  std::sort(in_place.begin(), in_place.end());
  WriteResult all;
  for (std::span<const std::size_t> rest(in_place); !rest.empty() && all.outcome == WriteOutcome::done;) {
    // Mark a few at a time with a pause between, so that writers that wait for the lock get their turn.
    const auto some = rest.first(std::min(rest.size(), marks_at_once));
    rest = rest.subspan(some.size());
    all = with_marks_of(all, co_await mark_some(inbox, document, some));
    if (all.outcome != WriteOutcome::done) break;
    for (const auto index : some) {
      document.set_read(index);
      note_mark(box, document.entries()[index].key);
    }
    if (!rest.empty()) co_await pause_jittered(milliseconds(0), milliseconds(1));
  }
  ReadResult& reading = scan.reading;
  if (reading.windows.size() > 1 || !scan.to_replace.empty()) {  // as in the file now
    Window& window = reading.windows[scan.window];
    window.hash = hash_of(document.bytes().substr(window.bytes.begin - document.offset(), window.bytes.size()));
  }
  co_return all;
}

/// Exclusive access only: a shared reader sets each flag as soon as it may be set.
bool ArraysMailbox::may_replace(const Box& box) const {
  const bool has_rested = !box.replaced || clock_.steady() - *box.replaced >= settings_.poll_interval;
  return box.reader == Access::exclusive && !box.is_in_the_way && has_rested;
}

asio::awaitable<WriteResult> ArraysMailbox::mark_by_replacement(std::string inbox, Box& box) {
  WriteResult result;
  result.outcome = WriteOutcome::changed;
  // The replacement of a file may undo a write that a peer without a lock makes at that moment. Limit replacements to
  // one per poll interval, however often such a peer wakes us.
  const auto now = clock_.steady();
  if (box.replaced && now - *box.replaced < settings_.poll_interval) co_return result;
  box.replaced = now;
  ReadResult& reading = box.scan->reading;
  InboxDocument& document = reading.document;
  const auto marked = std::move(box.scan->to_replace);
  std::string file;
  auto work = [&] {
    inboxes_.see_as_changed(inbox);  // no reading has seen entries that arrived since
    return inboxes_.replace_marked(inbox, document, marked, reading.windows, file);
  };
  auto* const pool = inboxes_.size_of(inbox) >= big_rewrite ? settings_.pool : nullptr;
  for (int round = 0; round < lock_rounds; ++round) {
    if (round > 0) co_await pause_jittered(milliseconds(3), milliseconds(25));
    result = co_await offload(pool, work);
    if (result.outcome != WriteOutcome::lock_held) break;
  }
  box.is_in_the_way = put_of(result.outcome) != WriteStatus::done;
  if (box.is_in_the_way) co_return result;
  const auto& entries = document.entries();
  const bool stays =  // every byte but the flags is at its old offset
      std::all_of(marked.begin(), marked.end(), [&](auto i) { return entries[i].read == ReadFlag::unread; });
  if (stays) document.show(std::move(file), 0);
  for (const std::size_t index : marked) {
    note_mark(box, entries[index].key);
    if (stays) document.set_read(index);
  }
  // The entries of earlier windows are read now, and the whole file is in memory.
  for (std::size_t i = 0; stays && i < box.scan->window; ++i) inboxes_.remember(inbox, reading, i);
  co_return result;
}

asio::awaitable<WriteResult> ArraysMailbox::mark_some(const std::string& inbox, const InboxDocument& document,
                                                      std::span<const std::size_t> indexes) {
  WriteResult result;
  for (int round = 0; round < lock_rounds; ++round) {
    if (round > 0) co_await pause_jittered(milliseconds(3), milliseconds(25));
    result = inboxes_.mark_read(inbox, document, indexes);
    if (result.outcome != WriteOutcome::lock_held) break;
  }
  co_return result;
}

std::function<bool(const schema::MessageKey&)> ArraysMailbox::referenced(const std::string& inbox) const {
  struct Keys {
    KeySet settled;
    KeySet identities;
    KeySet trimmed;
  };
  auto keys = std::make_shared<Keys>();
  keys->identities = inboxes_.known(inbox).identities();
  if (const auto box = boxes_.find(inbox); box != boxes_.end())
    keys->settled = box->second.settled;
  if (const auto gone = trimmed_.find(inbox); gone != trimmed_.end()) {
    std::vector<Fingerprint> recent;
    for (const auto& [when, key] : gone->second)
      if (clock_.steady() - when <= trimmed_is_recent) recent.push_back(key);
    keys->trimmed = KeySet(std::move(recent));
  }
  return [keys](const schema::MessageKey& key) {
    return keys->settled.contains(key) || keys->identities.contains(schema::with_occurrence(key, 0)) ||
           keys->trimmed.contains(key);
  };
}

asio::awaitable<Expunged> ArraysMailbox::expunge(std::string inbox, RetentionPolicy choose) {
  Expunged told;
  auto end = Round::try_again;
  for (int round = 0; round < trim_rounds && end == Round::try_again; ++round) {
    if (round > 0) co_await pause_jittered(milliseconds(15), milliseconds(50));
    end = co_await trim_once(inbox, choose, told);
  }
  if (end == Round::try_again) told.put = WriteStatus::busy;
  if (end == Round::nothing_to_gain) told.put = WriteStatus::unchanged;
  co_return told;
}

asio::awaitable<ArraysMailbox::Round> ArraysMailbox::trim_once(const std::string& inbox, const RetentionPolicy& choose,
                                                               Expunged& told) {
  // Read the whole file, also the known head.
  auto read = [this, inbox] { return inboxes_.read(inbox, ReadMode::unlocked); };
  auto* const pool = inboxes_.size_of(inbox) >= big_rewrite ? settings_.pool : nullptr;
  const ReadResult reading = co_await offload(pool, std::move(read));
  if (reading.outcome != ReadOutcome::document) co_return Round::try_again;
  const InboxDocument& document = reading.document;
  std::vector<Item> items;
  for (const auto& entry : document.entries())
    items.push_back({&entry.key, entry.bytes.size(), entry.read == ReadFlag::read});
  const auto leaving = co_await choose(items, document.bytes().size());
  if (!leaving) told.put = WriteStatus::busy;  // the policy did not decide, now
  if (!leaving) co_return Round::gave_up;
  if (leaving->empty()) co_return Round::nothing_to_gain;
  auto remove = [this, &inbox, &document, &leaving] { return inboxes_.remove(inbox, document, *leaving); };
  WriteResult result = co_await offload(pool, std::move(remove));
  co_return trimmed(inbox, document, *leaving, std::move(result), told);
}

ArraysMailbox::Round ArraysMailbox::trimmed(const std::string& inbox, const InboxDocument& document,
                                            const std::vector<std::size_t>& leaving, WriteResult result,
                                            Expunged& told) {
  told.put = put_of(result.outcome);
  told.detail = std::move(result.detail);
  if (told.put == WriteStatus::busy) return Round::try_again;  // a peer wrote at the same moment
  if (told.put == WriteStatus::fault) forget(inbox);           // removed or not: start from the beginning
  if (told.put != WriteStatus::done) return Round::gave_up;
  Box& box = boxes_[inbox];
  const auto now = clock_.steady();
  auto& trimmed = trimmed_[inbox];
  std::erase_if(trimmed, [now](const auto& one) { return now - one.first > trimmed_is_recent; });
  for (const std::size_t index : leaving) {
    const InboxEntry& entry = document.entries()[index];
    told.bytes += entry.bytes.size();
    trimmed.emplace_back(now, fingerprint(entry.key));
    box.others.removed_by_us(entry.key);
  }
  told.entries = leaving.size();
  return Round::done;
}

}  // namespace inbox_poller::poller
