#include "poller/mailbox/jsonl/jsonl_mailbox.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "poller/mailbox/jsonl/team_texts.hpp"
#include "schema/codec.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::string_view jsonl_suffix = ".jsonl";
constexpr const char* roster_name = "config.json";
constexpr const char* inbox_folder = "inbox";
constexpr const char* request_folder = "requests";
constexpr const char* task_lock_name = ".lock";
/// Number of reads of a roster. Its program writes it in place, up to hundreds of times a second, so a read may be
/// torn.
constexpr int roster_rounds = 50;
/// Time after which a torn roster that nobody writes on is told as unreadable.
constexpr std::chrono::seconds roster_rests{5};
constexpr std::size_t most_senders = 500;
/// Age of a task file at which its writer, which writes in place, has finished.
constexpr std::int64_t task_rests_ns = 50'000'000;

std::string jsonl_file(const std::string& box) { return box + std::string(jsonl_suffix); }

bool is_missing(const Error& error) { return is_errno(error, ENOENT) || is_errno(error, ENOTDIR); }

WriteReceipt stopped_at(const Error& error) { return {is_missing(error) ? WriteStatus::gone : WriteStatus::fault, error.message}; }

std::string seconds_text(EpochMs moment) {
  std::string text = std::to_string(moment / 1000) + "." + std::to_string(1000 + moment % 1000).substr(1);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text;
}

}  // namespace

JsonlMailbox::JsonlMailbox(FileSystem& files, const Clock& clock, JsonlSettings settings,
                           std::unique_ptr<FileWatch> watch)
    : files_(files),
      clock_(clock),
      settings_(std::move(settings)),
      records_(files, settings_.records),
      team_{files, clock, records_, contention_, settings_.team, settings_.size_limit},
      posts_(files, clock, std::move(watch), contention_) {
}

std::string JsonlMailbox::tasks_folder() const {
  if (!settings_.tasks.empty()) return settings_.tasks;
  return settings_.folder.substr(0, settings_.folder.rfind('/')) + "/.tasks";
}

Result<Directory> JsonlMailbox::open_boxes() {
  if (const auto loaded = records_.load(); !loaded.ok()) {
    // Without its generations each line would come again, so an unreadable record keeps the inboxes unread.
    if (loaded.error().code != "jsonl.record") return loaded.error();
    record_problem_ = loaded.error().message;
  }
  TRY(auto team, open_team());
  const auto has_folder = [&](const char* name) -> Result<bool> {
    const auto found = files_.stat_at(team, name);
    if (!found && !is_missing(found.error())) return found.error();  // `false` would select another folder
    return found && found->kind == FileKind::directory;
  };
  TRY(const auto inbox, has_folder(inbox_folder));
  TRY(const auto requests, inbox ? has_folder(request_folder) : Result<bool>(false));
  in_folder_ = inbox;
  JsonlFolders seen{in_folder_, requests, false, false};
  if (!in_folder_) {
    const auto tasks = open_dir_below(files_, tasks_folder());
    const auto names = tasks ? files_.list(*tasks) : Result<std::vector<std::string>>(std::vector<std::string>());
    if (names) {
      seen.task_lock = std::find(names->begin(), names->end(), task_lock_name) != names->end();
      seen.hex_tasks = std::any_of(names->begin(), names->end(), [](const auto& name) { return is_hex_task(name); });
    }
  }
  generation_ = generation_of(seen);
  opened_ = clock_.steady();
  if (!in_folder_) return team;
  TRY(auto folder, files_.open_dir(team, inbox_folder));
  TRY(require_trusted(folder.stat, folder.path));
  return folder;
}

std::string JsonlMailbox::location(const std::string& box) const {
  return boxes_path() + "/" + jsonl_file(box);
}

LineBox& JsonlMailbox::box(const std::string& name) {
  return boxes_.try_emplace(name, team_, name, jsonl_file(name)).first->second;
}

LinePost::KeyOf JsonlMailbox::key_in(const std::string& inbox) const {
  return [this, inbox](std::string_view line) -> std::optional<schema::MessageKey> {
    const auto message = decode_own_jsonl(line);
    if (!message) return std::nullopt;
    return schema::make_message_key({settings_.team, inbox}, message->from, message->timestamp, message->text, 0);
  };
}

bool JsonlMailbox::is_as_listed() {
  if (!turns_.are_taken() || !listed_ || clock_.steady() - opened_ >= ScanRotation::once_around) return false;
  const auto now = files_.stat_at(absolute, boxes_path());
  return now && *listed_ == version_of(*now);
}

Status JsonlMailbox::list(const Directory& folder) {
  listed_.reset();
  const FileVersion version = version_of(folder.stat);
  const bool settled = is_settled(version, clock_.system_ms());  // file times come from this clock
  TRY(auto names, files_.list(folder));
  const auto tracked = posts_.files();
  names.insert(names.end(), tracked.begin(), tracked.end());  // some programs remove an inbox to empty it
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  ready_.clear();
  for (const std::string& name : names) {
    if (!std::string_view(name).ends_with(jsonl_suffix)) continue;
    std::string one = name.substr(0, name.size() - jsonl_suffix.size());
    if (schema::is_valid_name(one)) ready_.push_back({std::move(one), true});
  }
  std::sort(ready_.begin(), ready_.end(), [](const ReadyBox& a, const ReadyBox& b) { return a.box < b.box; });
  if (settled && tracked.empty()) listed_ = version;
  return Done{};
}

Result<std::span<const ReadyBox>> JsonlMailbox::ready_boxes() {
  is_idle_ = false;
  const bool were_told = std::exchange(all_told_, false);
  const bool follows = !posts_.files().empty();
  const bool by_name = were_told && !follows && is_as_listed();
  const auto folder = by_name ? Result<Directory>(Directory()) : open_boxes();
  const bool same = by_name || (folder && !follows && listed_ && *listed_ == version_of(folder->stat));
  if (!same) ready_.clear();
  if (!folder && is_missing(folder.error())) return std::span<const ReadyBox>{};
  if (!folder) return folder.error();
  if (!same)
    TRY(list(*folder));
  if (follows)
    posts_.look(*folder, [&](const std::string& file, std::string_view line) {
      return key_in(file.substr(0, file.size() - jsonl_suffix.size()))(line);
    });
  const std::string below = by_name ? boxes_path() + "/" : "";
  const auto turn = turns_.next(ready_.size());
  bool all_told = true;
  for (std::size_t i = 0; i < ready_.size(); ++i) {
    auto& [name, changed] = ready_[i];
    const bool is_tracked = follows && posts_.follows(jsonl_file(name));
    if (were_told && !changed && !is_tracked && !turn.has(i)) continue;
    // A read of an inbox with a tracked line would be taken for its owner's read.
    changed = is_tracked ? posts_.decided(jsonl_file(name)) : box(name).has_news(*folder, below);
    all_told = all_told && !changed;
  }
  is_idle_ = were_told && same && all_told;
  all_told_ = all_told;
  return std::span<const ReadyBox>(ready_);
}

asio::awaitable<Batch> JsonlMailbox::receive(std::string name, Access reader, std::size_t most) {
  Batch batch;
  all_told_ = false;
  if (posts_.follows(jsonl_file(name))) {
    batch.state = BoxState::open;
    co_return batch;
  }
  const auto folder = open_boxes();
  if (!folder) {
    batch.state = is_missing(folder.error()) ? BoxState::missing : BoxState::fault;
    batch.detail = folder.error().message;
    co_return batch;
  }
  LineBox::Waits is_stranger;  // a new sender must be a member before its first line is taken
  if (settings_.anybody && roster_read_ && name == settings_.lead)
    is_stranger = [&](std::string_view line) {
      const auto message = decode_own_jsonl(line);
      return message && message->from != settings_.lead && senders_.size() < most_senders &&
             !std::ranges::binary_search(there_, message->from);
    };
  batch = box(name).take(*folder, reader, most, is_stranger);
  if (batch.detail.empty()) batch.detail = std::exchange(record_problem_, {});
  co_return batch;
}

asio::awaitable<Settled> JsonlMailbox::ack(std::string name, std::vector<Ack> disposals) {
  all_told_ = false;
  const auto folder = open_boxes();
  const auto known = boxes_.find(name);
  if (!folder || known == boxes_.end()) co_return Settled{};
  co_return known->second.ack(*folder, disposals);
}

void JsonlMailbox::rewind(const std::string& name) {
  all_told_ = false;
  if (const auto known = boxes_.find(name); known != boxes_.end()) known->second.rewind();
}

Result<Decoded> JsonlMailbox::decode(std::string_view bytes) const {
  TRY(auto entry, decode_jsonl(bytes));
  return Decoded{std::move(entry.message), entry.says_all, std::move(entry.ignored)};
}

std::function<bool(const schema::MessageKey&)> JsonlMailbox::referenced(const std::string& name) const {
  return [this, name](const schema::MessageKey& key) {
    const auto known = boxes_.find(name);
    return known != boxes_.end() && known->second.holds(key);
  };
}

asio::awaitable<Expunged> JsonlMailbox::expunge(std::string, RetentionPolicy) {
  Expunged nothing;  // LineBox empties the file by itself
  nothing.put = WriteStatus::unchanged;
  co_return nothing;
}

std::vector<WriteReceipt> JsonlMailbox::post(const std::string& inbox, std::span<const schema::Message> messages) {
  std::vector<WriteReceipt> results(messages.size());
  all_told_ = false;
  const auto all = [&](const WriteReceipt& result) {
    std::ranges::fill(results, result);
    return results;
  };
  if (!schema::is_valid_name(inbox) || inbox == settings_.lead)
    return all({WriteStatus::refused, "'" + inbox + "' is not a worker's name that we write to (A-Z a-z 0-9 _ -, at most 64)"});
  const auto folder = open_boxes();
  if (!folder) return all(stopped_at(folder.error()));
  std::vector<LinePost::Line> lines;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const schema::Message& message = messages[i];
    auto line = encode_jsonl(message, inbox, generation_);
    if (!line) {
      results[i] = {WriteStatus::refused, line.error().message};
    } else if (auto kept = keep_request(message, inbox); !kept.ok()) {
      std::fill(results.begin() + static_cast<std::ptrdiff_t>(i), results.end(), stopped_at(kept.error()));
      break;
    } else {
      lines.push_back({schema::make_message_key({settings_.team, inbox}, message.from, message.timestamp, message.text, 0),
                       *std::move(line)});
      places.push_back(i);
    }
  }
  if (!lines.empty()) posts_.post(*folder, jsonl_file(inbox), lines);
  for (std::size_t i = 0; i < lines.size(); ++i) results[places[i]] = std::move(lines[i].result);
  return results;
}

Status JsonlMailbox::keep_request(const schema::Message& message, const std::string& to) {
  if (generation_ != JsonlGeneration::g2) return Done{};
  const auto payload = schema::decode_payload(message.text);
  const auto* stop = std::get_if<schema::ShutdownRequest>(&payload);
  const auto* plan = std::get_if<schema::PlanApprovalResponse>(&payload);
  if (stop == nullptr && plan == nullptr) return Done{};
  const std::string id = stop != nullptr ? stop->request_id : plan->request_id;
  if (!schema::is_valid_name(id)) return Done{};  // no record can have such a name
  TRY(const auto team, open_team());
  TRY(const auto folder, files_.open_dir(team, request_folder));
  TRY(require_trusted(folder.stat, folder.path));
  const std::string name = id + ".json", now = seconds_text(clock_.system_ms());
  const auto quoted = [](const std::string& text) { return schema::quote(text); };
  const auto file = files_.open_read(folder, name);
  if (!file && !is_missing(file.error())) return file.error();  // a record that cannot be read is not replaced
  TRY(auto bytes, file ? read_all(files_, *file) : Result<std::string>(std::string("{}")));
  if (stop != nullptr && file) return Done{};
  const auto author = schema::decode_string(schema::find_member(bytes, "from").value_or("")).value_or(to);
  if (plan != nullptr && author != to) return Done{};  // the record of another worker with the same id
  Result<std::string> wanted =
      stop != nullptr
          ? with_members(bytes, {{"request_id", quoted(id)}, {"kind", "\"shutdown\""}, {"from", quoted(message.from)},
                                  {"to", quoted(to)}, {"status", "\"pending\""}, {"created_at", now}, {"updated_at", now}})
          : with_members(bytes, {{"status", plan->approved ? "\"approved\"" : "\"rejected\""},
                                  {"reviewed_by", quoted(message.from)}, {"resolved_at", now},
                                  {"feedback", quoted(plan->feedback)}, {"updated_at", now}});
  if (!wanted) return Done{};  // an unreadable record is left to its program
  if (plan != nullptr && !file) return Done{};
  const std::string fresh = "." + name + ".inbox-poller";
  static_cast<void>(files_.unlink_at(folder, fresh));
  TRY(create_durable(files_, folder, fresh, *wanted, file ? file->stat.mode : 0600U));
  TRY(files_.rename_at(folder, fresh, name));
  return files_.sync_dir(folder);
}

void JsonlMailbox::track(const std::string& inbox, const schema::MessageKey& key) {
  all_told_ = false;
  posts_.track(jsonl_file(inbox), key);
}

ReadStatus JsonlMailbox::read_status(const std::string& inbox, const schema::MessageKey& key) const {
  return posts_.read_status(jsonl_file(inbox), key);
}

void JsonlMailbox::untrack(const std::string& inbox, const schema::MessageKey& key) {
  posts_.untrack(jsonl_file(inbox), key);
}

WriteReceipt JsonlMailbox::recall(const std::string& inbox, std::span<const schema::MessageKey> keys) {
  all_told_ = false;
  const auto folder = open_boxes();
  if (!folder) return stopped_at(folder.error());
  return posts_.recall(*folder, jsonl_file(inbox), keys, key_in(inbox));
}

bool JsonlMailbox::roster_changed() {
  if (!roster_read_) return true;
  if (settings_.anybody) return !is_as_heard() && there_ != anybody();
  if (!settings_.members.empty()) return false;
  const auto now = files_.stat_at(absolute, settings_.folder + "/" + roster_name);
  return !now || version_of(*now) != *roster_read_ || clock_.system_ms() * 1'000'000 - now->mtime_ns < 2'000'000'000;
}

Result<schema::Roster> JsonlMailbox::roster() {
  const auto team = open_team();
  if (!team) return is_missing(team.error()) ? Error{"roster.missing", team.error().message} : team.error();
  static_cast<void>(open_boxes());  // updates the generation
  const auto with_generation = [&](schema::Roster roster) {
    if (generation_ == JsonlGeneration::g4)
      roster.own_lead_only = "programs of this generation (g4) hold its answers against what their own lead remembers";
    return roster;
  };
  if (settings_.anybody || !settings_.members.empty()) {
    roster_read_ = version_of(team->stat);
    if (settings_.anybody) there_ = anybody();
    return with_generation(jsonl_roster_of(settings_.team, settings_.anybody ? there_ : settings_.members));
  }
  roster_read_.reset();
  Error problem{"roster.empty", settings_.folder + "/" + roster_name + " holds nothing"};
  for (int round = 0; round < roster_rounds; ++round) {
    const auto file = files_.open_read(*team, roster_name);
    if (!file && is_missing(file.error()))
      return Error{"roster.missing", file.error().message + "; a team without a roster needs team.members"};
    if (!file) return Error{"roster.unreadable", file.error().message};
    const auto bytes = file->stat.size <= settings_.size_limit
                           ? read_all(files_, *file)
                           : Result<std::string>(Error{"roster.unreadable", file->path + " is too large"});
    if (!bytes) return Error{"roster.unreadable", bytes.error().message};
    auto roster = decode_jsonl_roster(*bytes);
    if (roster) {
      copy_ = {*bytes, file->stat.ino};
      roster_read_ = version_of(file->stat);
      return with_generation(*std::move(roster));
    }
    if (!bytes->empty()) problem = {roster.error().code, file->path + ": " + roster.error().message};
    if (torn_.version != version_of(file->stat)) torn_ = {version_of(file->stat), clock_.steady()};
    if (clock_.steady() - torn_.since >= roster_rests) return problem;  // the team is served by the last roster
  }
  // An empty or torn file is not a change: its program is writing it, or died meanwhile.
  if (auto last = decode_jsonl_roster(copy_.bytes)) return with_generation(*std::move(last));
  return problem;
}

std::vector<std::string> JsonlMailbox::anybody() {
  const auto folder = open_boxes();
  const auto names = folder ? files_.list(*folder) : Result<std::vector<std::string>>(folder.error());
  if (!names) return there_;
  hear_senders(*folder);
  std::set<std::string> all = senders_;
  for (const std::string& name : *names)
    if (std::string_view(name).ends_with(jsonl_suffix)) all.insert(name.substr(0, name.size() - jsonl_suffix.size()));
  all.erase(settings_.lead);
  return {all.begin(), all.end()};
}

/// Returns true if no member can be new: the inboxes are the same, and the lead's is as when its senders were read.
bool JsonlMailbox::is_as_heard() {
  if (!is_as_listed()) return false;
  const auto lead = files_.stat_at(absolute, location(settings_.lead));
  return lead && heard_ && *heard_ == version_of(*lead);
}

void JsonlMailbox::hear_senders(const Directory& folder) {
  const auto file = files_.open_read(folder, jsonl_file(settings_.lead));
  if (!file || file->stat.size > 4 * settings_.size_limit) return;
  const FileVersion now = version_of(file->stat);
  if (heard_ == now) return;
  const auto bytes = read_all(files_, *file);
  if (!bytes) return;
  heard_ = now;
  for (std::size_t at = 0; at < bytes->size() && senders_.size() < most_senders;) {
    const std::size_t end = std::min(bytes->find('\n', at), bytes->size());
    if (const auto line = decode_own_jsonl(std::string_view(*bytes).substr(at, end - at))) senders_.insert(line->from);
    at = end + 1;
  }
}

WriteReceipt JsonlMailbox::remove_member(const std::string& name) {
  return {WriteStatus::gone, name + " stays in the roster: its program keeps that in memory and writes it over"};
}

TasksReleased JsonlMailbox::release_tasks(const std::string& name, const std::string&) {
  TasksReleased result;
  const auto tasks = open_dir_below(files_, tasks_folder());
  const auto names = tasks ? files_.list(*tasks) : Result<std::vector<std::string>>(tasks.error());
  if (!names) return {stopped_at(names.error()), {}};
  for (const std::string& file : *names) {
    if (!is_jsonl_task(file)) continue;
    const WriteReceipt one = release_task(*tasks, file, name, result.tasks);
    if (one.put == WriteStatus::done) continue;
    result.detail += (result.detail.empty() ? "" : "; ") + one.detail;
    if (one.put != WriteStatus::refused) result.put = one.put;  // a file that is not a task is skipped
  }
  std::sort(result.tasks.begin(), result.tasks.end(), [](const auto& a, const auto& b) {
    return std::pair(a.id.size(), a.id) < std::pair(b.id.size(), b.id);
  });
  return result;
}

WriteReceipt JsonlMailbox::release_task(const Directory& tasks, const std::string& file, const std::string& name,
                                     std::vector<schema::Task>& released) {
  const auto open = files_.open_read(tasks, file);
  if (!open) return is_missing(open.error()) ? WriteReceipt{} : WriteReceipt{WriteStatus::refused, open.error().message};
  const auto bytes = read_all(files_, *open);
  if (!bytes) return stopped_at(bytes.error());
  const bool rests = clock_.system_ms() * 1'000'000 - open->stat.mtime_ns >= task_rests_ns;
  const WriteReceipt busy{WriteStatus::busy, open->path + " is being written"};
  auto task = decode_jsonl_task(*bytes);
  if (!task) return rests ? WriteReceipt{WriteStatus::refused, open->path + ": " + task.error().message} : busy;
  if (!task->is_unfinished() || task->owner != name) return {};
  if (!rests) return busy;
  const auto wanted = released_jsonl(*bytes);
  if (!wanted) return {WriteStatus::refused, open->path + ": " + wanted.error().message};
  const WriteReceipt put = replace_task(tasks, *open, file, *wanted);
  if (put.put == WriteStatus::done) released.push_back(*std::move(task));
  return put;
}

TaskAssigned JsonlMailbox::assign_task(const std::string& id, const std::string& name,
                                       const std::function<bool(const std::string& owner)>& is_there) {
  const std::string file = "task_" + id + ".json";
  const auto tasks = open_dir_below(files_, tasks_folder());
  const auto open = tasks && is_jsonl_task(file) ? files_.open_read(*tasks, file)
                                                 : Result<File>(tasks ? io_error(ENOENT, "opening", file) : tasks.error());
  if (!open) return {stopped_at(open.error()), {}};
  const auto bytes = read_all(files_, *open);
  if (!bytes) return {stopped_at(bytes.error()), {}};
  const bool rests = clock_.system_ms() * 1'000'000 - open->stat.mtime_ns >= task_rests_ns;
  const auto task = decode_jsonl_task(*bytes);
  if (!task && rests) return {{WriteStatus::refused, open->path + ": " + task.error().message}, {}};
  if (!task || !rests) return {{WriteStatus::busy, open->path + " is being written"}, {}};
  if (WriteReceipt may = may_assign(*task, name, is_there); may.put != WriteStatus::done) return {may, *task};
  const auto wanted = assigned_jsonl(*bytes, name);
  if (!wanted) return {{WriteStatus::refused, open->path + ": " + wanted.error().message}, *task};
  return {replace_task(*tasks, *open, file, *wanted), *task};
}

WriteReceipt JsonlMailbox::replace_task(const Directory& tasks, const File& read, const std::string& file,
                                     const std::string& wanted) {
  const std::string fresh = "." + file + ".inbox-poller";
  static_cast<void>(files_.unlink_at(tasks, fresh));
  Status done = create_durable(files_, tasks, fresh, wanted, read.stat.mode);
  const auto now = files_.stat_at(tasks, file);
  const bool same = now && now->ino == read.stat.ino && now->size == read.stat.size &&
                    now->mtime_ns == read.stat.mtime_ns;
  if (done.ok() && same) done = files_.rename_at(tasks, fresh, file);
  if (!done.ok() || !same) static_cast<void>(files_.unlink_at(tasks, fresh));
  if (done.ok() && same) done = files_.sync_dir(tasks);
  if (!done.ok()) return stopped_at(done.error());
  if (!same) return {WriteStatus::busy, read.path + " is being written"};
  return {};
}

}  // namespace inbox_poller::poller
