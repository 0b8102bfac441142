// What every mailbox system has to show of the port (poller/mailbox/mailbox.hpp): each case runs over each system, and
// each one finds the defect that it is there for.
#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "poller/broker/redis_mailbox.hpp"
#include "poller/broker/redis_scripts.hpp"
#include "poller/mailbox/arrays/array_entry.hpp"
#include "poller/mailbox/float_seconds.hpp"
#include "poller/mailbox/jsonl/jsonl_mailbox.hpp"
#include "poller/mailbox/letter.hpp"
#include "poller/mailbox/maildir/maildir_mailbox.hpp"
#include "schema/codec.hpp"
#include "poller/pause.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/mailbox_setting.hpp"
#include "tests/support/memory_mailbox.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::mailbox_conformance {

using poller::BoxState;
using poller::Ack;
using poller::ReadStatus;
using poller::WriteStatus;
using poller::Access;
using test::Defect;

namespace {

const std::string box = "worker-1";

/// A system with one team, and what the owner of a box and others do to it, each in the way of that system.
class System {
 public:
  virtual ~System() = default;
  virtual poller::Mailbox& mailbox() = 0;
  /// Another process takes over.
  virtual void reopen() = 0;
  /// What stands there unread, as its owner would read it, in that order.
  virtual std::vector<schema::Message> unread() = 0;
  virtual void owner_marks_all() = 0;
  virtual void owner_removes_all() = 0;
  virtual void other_writes(const schema::Message&) = 0;
  /// Somebody writes back what he had read when remember() was called.
  virtual void remember() = 0;
  virtual void put_back() = 0;
  virtual void hold(bool held) = 0;
  virtual void block(bool blocked) = 0;
  /// The look of a poll.
  virtual void look() = 0;
  /// Something that is no message, behind what is there.
  virtual void other_writes_nonsense() = 0;
  /// Another one writes all of it anew, as it means the same.
  virtual void other_rewrites() = 0;
  /// So long that what was written is old.
  virtual void rest() = 0;
  /// What is left of a message that is said in this system's way.
  [[nodiscard]] virtual schema::Message carried(schema::Message message) const { return message; }
  /// A message that this system does not carry.
  [[nodiscard]] virtual std::optional<schema::Message> refused() const { return std::nullopt; }
  /// Why a case says nothing about this system; empty where it does.
  [[nodiscard]] virtual std::string excused(std::string_view) const { return {}; }
};

class Memory final : public System {
 public:
  explicit Memory(Defect defect) : mailbox_(defect) {}
  poller::Mailbox& mailbox() override { return mailbox_; }
  void reopen() override { mailbox_.reopen(); }
  std::vector<schema::Message> unread() override {
    std::vector<schema::Message> found;
    for (const auto& entry : mailbox_.box(box))
      if (!entry.read) found.push_back(entry.message);
    return found;
  }
  void owner_marks_all() override {
    for (auto& entry : mailbox_.box(box)) entry.read = true;
  }
  void owner_removes_all() override { mailbox_.box(box).clear(); }
  void other_writes(const schema::Message& message) override {
    mailbox_.box(box).push_back({test::MemoryMailbox::key_of(box, message), message});
  }
  void remember() override { before_ = mailbox_.box(box); }
  void put_back() override { mailbox_.put_back(box, before_); }
  void hold(bool held) override { mailbox_.obstruct(box, {held ? WriteStatus::busy : WriteStatus::done, "held"}); }
  void block(bool blocked) override { mailbox_.obstruct(box, {blocked ? WriteStatus::blocked : WriteStatus::done, "in the way"}); }
  void look() override { mailbox_.look(box); }
  void other_writes_nonsense() override {
    mailbox_.box(box).push_back({{"nonsense"}, {}, false, "{\"from\": 1}"});
  }
  void other_rewrites() override {
    if (!mailbox_.box(box).empty()) mailbox_.box(box).insert(mailbox_.box(box).begin(), {key_of_first(), first()});
  }
  void rest() override {}
  [[nodiscard]] std::optional<schema::Message> refused() const override {
    return schema::Message{"team-lead", std::string(test::MemoryMailbox::refused_text), "", "2026-02-07T15:20:09.000Z", "", "r"};
  }

 private:
  static schema::Message first() { return {"worker-3", "in front", "", "2026-02-07T15:20:01.000Z", "", "f"}; }
  static schema::MessageKey key_of_first() { return test::MemoryMailbox::key_of(box, first()); }
  test::MemoryMailbox mailbox_;
  test::MemoryMailbox::Box before_;
};

class Arrays final : public System {
 public:
  poller::Mailbox& mailbox() override { return *mailbox_; }
  void reopen() override { mailbox_ = make(); }
  std::vector<schema::Message> unread() override {
    std::vector<schema::Message> found;
    const auto reading = mailbox_->inboxes().read(box, poller::ReadMode::unlocked);
    for (const auto& entry : reading.document.entries()) {
      const auto message = poller::decode_entry(reading.document.entry_bytes(entry));
      if (message && entry.read != poller::ReadFlag::read) found.push_back(*message);
    }
    return found;
  }
  void owner_marks_all() override {
    std::string bytes = test::slurp(file());
    for (auto at = bytes.find(R"("read": false)"); at != std::string::npos; at = bytes.find(R"("read": false)"))
      bytes.replace(at + 8, 5, "true");
    test::spill(file(), bytes);
  }
  void owner_removes_all() override { test::spill(file(), "[]"); }
  void other_writes(const schema::Message& message) override {
    const bool exists = std::filesystem::exists(file());
    const auto now = poller::InboxDocument::scan(exists ? test::slurp(file()) : "[]", {});
    test::spill(file(), now.with_appended(poller::encode_entry(message)));
  }
  void remember() override { before_ = test::slurp(file()); }
  void put_back() override { test::spill(file(), before_); }
  void hold(bool held) override {
    if (held) std::filesystem::create_directory(lock());
    if (!held) std::filesystem::remove(lock());
  }
  void block(bool blocked) override {
    if (blocked) std::filesystem::create_symlink("nowhere", lock());
    if (!blocked) std::filesystem::remove(lock());
  }
  void other_writes_nonsense() override {
    std::string bytes = test::slurp(file());
    test::spill(file(), bytes.insert(bytes.rfind(']'), ",{\"from\": 1}"));
  }
  void other_rewrites() override {
    const auto now = boost::json::parse(test::slurp(file())).as_array();
    boost::json::array anew{boost::json::parse(poller::encode_entry(
        {"worker-3", "in front", "", "2026-02-07T15:20:01.000Z", "", "f"}))};
    for (const auto& entry : now) anew.push_back(entry);
    test::spill(file(), boost::json::serialize(anew));
  }
  void rest() override { at_.ack(); }
  void look() override { static_cast<void>(test::run_awaitable(mailbox_->receive(box, poller::Access::peek, 1))); }

 private:
  std::unique_ptr<poller::ArraysMailbox> make() {
    return std::make_unique<poller::ArraysMailbox>(at_.files, at_.clock, at_.settings());
  }
  [[nodiscard]] std::filesystem::path file() const { return at_.folder() / (box + ".json"); }
  [[nodiscard]] std::filesystem::path lock() const { return at_.folder() / (box + ".json.lock"); }

  test::MailboxSetting at_;
  std::unique_ptr<poller::ArraysMailbox> mailbox_ = make();
  std::string before_;
};

/// Its owner reads the file and empties it; a line that was read says nothing of it.
class Jsonl final : public System {
 public:
  Jsonl() {
    std::filesystem::create_directories(scratch_.path(".team/inbox"));
    reopen();
  }
  ~Jsonl() override { hold(false); }
  poller::Mailbox& mailbox() override { return *mailbox_; }
  void reopen() override {
    const std::string folder = scratch_.path(".team").string();
    mailbox_ = std::make_unique<poller::JsonlMailbox>(
        files_, clock_,
        poller::JsonlSettings{folder, "", "team", "lead", {}, scratch_.path("state/jsonl/team.json").string(), 1 << 20});
  }
  std::vector<schema::Message> unread() override {
    // A quiet moment, in which the file is emptied of what has been consumed.
    rest();
    if (test::run_awaitable(mailbox_->receive(box, Access::exclusive, 100)).taken.empty())
      static_cast<void>(test::run_awaitable(mailbox_->ack(box, {})));
    std::vector<schema::Message> found;
    std::istringstream lines(std::filesystem::exists(file()) ? test::slurp(file()) : std::string());
    for (std::string line; std::getline(lines, line);) {
      const auto entry = poller::decode_jsonl(line);
      if (entry && !line.ends_with(' ')) found.push_back(entry->message);  // a line that was taken back ends so
    }
    return found;
  }
  void owner_marks_all() override { owner_removes_all(); }
  void owner_removes_all() override {
    static_cast<void>(test::slurp(file()));
    std::filesystem::resize_file(file(), 0);
  }
  void other_writes(const schema::Message& message) override {
    write(*poller::encode_jsonl(message, box, poller::JsonlGeneration::g1));
  }
  void remember() override { before_ = test::slurp(file()); }
  void put_back() override {
    std::filesystem::resize_file(file(), 0);
    write(before_);
  }
  void hold(bool held) override {
    if (held_ >= 0) ::close(held_);
    held_ = held ? ::open(file().c_str(), O_RDONLY | O_CLOEXEC) : -1;
  }
  void block(bool) override {}
  void look() override {
    rest();
    static_cast<void>(mailbox_->ready_boxes());
    static_cast<void>(test::run_awaitable(mailbox_->receive(box, Access::peek, 100)));
  }
  void other_writes_nonsense() override { write("{\"from\": 1}\n"); }
  void other_rewrites() override {}
  void rest() override { clock_.advance(std::chrono::seconds(1)); }
  [[nodiscard]] std::optional<schema::Message> refused() const override {
    return schema::Message{"team-lead", schema::encode(schema::ModeSetRequest{"plan", "team-lead"}), "", "2026-02-07T15:20:09.000Z", "", "r"};
  }
  [[nodiscard]] schema::Message carried(schema::Message message) const override {
    return {message.from, message.text, "", message.timestamp, "", ""};
  }
  [[nodiscard]] std::string excused(std::string_view name) const override {
    if (name.starts_with("what a person must look at")) return "there is no lock that could be something else";
    if (name.starts_with("a message keeps its key over")) return "nobody rewrites a file of lines: its place is its name";
    if (name.starts_with("only what may go")) return "what is consumed has gone";
    return {};
  }

 private:
  [[nodiscard]] std::filesystem::path file() const { return scratch_.path(".team/inbox/" + box + ".jsonl"); }
  void write(const std::string& bytes) const {
    const int fd = ::open(file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()));
    ::close(fd);
  }

  test::ScratchDir scratch_;
  poller::PosixFileSystem files_;
  test::ManualClock clock_;
  std::unique_ptr<poller::JsonlMailbox> mailbox_;
  std::string before_;
  int held_ = -1;
};

/// Its owner takes a letter by a rename; a file in new/ is unread.
class Maildir final : public System {
 public:
  Maildir() {
    std::filesystem::create_directories(scratch_.path("root"));
    reopen();
  }
  poller::Mailbox& mailbox() override { return *mailbox_; }
  void reopen() override {
    clock_.advance(std::chrono::seconds(1));  // no process begins in the moment in which another wrote
    mailbox_ = std::make_unique<poller::MaildirMailbox>(
        files_, clock_, poller::MaildirSettings{scratch_.path("root").string(), "team", "team-lead", {}, false, 6});
  }
  std::vector<schema::Message> unread() override {
    std::vector<schema::Message> found;  // the public store reads by name
    for (const auto& file : files()) {
      const auto letter = schema::Envelope::decode(test::slurp(file));
      if (letter && !letter->text("from").empty()) found.push_back(poller::own_message_of(*letter));
    }
    return found;
  }
  void owner_marks_all() override { owner_removes_all(); }
  void owner_removes_all() override {
    std::filesystem::create_directories(folder("cur"));
    for (const auto& file : files()) std::filesystem::rename(file, folder("cur") / file.filename());
  }
  void other_writes(const schema::Message& message) override {
    schema::Envelope letter;
    letter.set("id", schema::content_hash(message.text).substr(0, 32)).set("from", message.from).set("type", "message");
    letter.set("payload", message.text).set_raw("ts", poller::seconds_of_timestamp(message.timestamp));
    write(letter.encode());
  }
  void remember() override {
    before_.clear();
    for (const auto& file : files()) before_[file.filename().string()] = test::slurp(file);
  }
  void put_back() override {
    std::filesystem::remove_all(folder("new"));
    for (const auto& [name, bytes] : before_) {
      std::filesystem::create_directories(folder("new"));
      test::spill(folder("new") / name, bytes);
    }
  }
  void hold(bool) override {}
  void block(bool blocked) override {
    if (blocked) {
      std::filesystem::rename(folder("new"), folder("aside"));
      std::filesystem::create_symlink("aside", folder("new"));
    } else {
      std::filesystem::remove(folder("new"));
      std::filesystem::rename(folder("aside"), folder("new"));
    }
  }
  void look() override {
    rest();
    static_cast<void>(mailbox_->ready_boxes());
    static_cast<void>(test::run_awaitable(mailbox_->receive(box, Access::peek, 100)));
  }
  void other_writes_nonsense() override { write("{\"from\": 1}"); }
  void other_rewrites() override {
    for (const auto& file : files()) {
      const auto anew = boost::json::serialize(boost::json::parse(test::slurp(file)));
      std::filesystem::remove(file);
      write(anew);
    }
    other_writes({"worker-3", "in front", "", "2026-02-07T15:20:01.000Z", "", "f"});
  }
  void rest() override { clock_.advance(std::chrono::seconds(1)); }
  [[nodiscard]] std::optional<schema::Message> refused() const override {
    return schema::Message{"team-lead", schema::encode(schema::ModeSetRequest{"plan", "team-lead"}), "", "2026-02-07T15:20:09.000Z", "", "r"};
  }
  [[nodiscard]] schema::Message carried(schema::Message message) const override {
    return {message.from, message.text, "", message.timestamp, "", ""};
  }
  [[nodiscard]] std::string excused(std::string_view name) const override {
    if (name.starts_with("a box that somebody holds")) return "nobody holds a folder: who writes and who takes do not meet";
    if (name.starts_with("only what may go")) return "what is consumed stands in cur/, which is its owner's";
    return {};
  }

 private:
  [[nodiscard]] std::filesystem::path folder(const std::string& name) const { return scratch_.path("root/" + box + "/" + name); }
  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    if (!std::filesystem::is_directory(folder("new"))) return found;
    for (const auto& one : std::filesystem::directory_iterator(folder("new"))) found.push_back(one.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  void write(const std::string& bytes) {
    std::filesystem::create_directories(folder("new"));
    test::spill(folder("new") / ("0000000000000000" + std::to_string(1000 + ++written_) + "-x.json"), bytes);
  }

  test::ScratchDir scratch_;
  poller::PosixFileSystem files_;
  test::ManualClock clock_;
  std::unique_ptr<poller::MaildirMailbox> mailbox_;
  std::map<std::string, std::string> before_;
  int written_ = 0;
};

/// Calls that return at once say what the look before found, and what is posted is told at a later call: here each look
/// is a fresh one, and each post is asked for until it is told.
class Looked final : public poller::Mailbox {
 public:
  explicit Looked(poller::Mailbox& mailbox) : to_(mailbox) {}
  Result<std::span<const poller::ReadyBox>> ready_boxes() override {
    refreshed();
    return to_.ready_boxes();
  }
  boost::asio::awaitable<poller::Batch> receive(std::string name, Access reader, std::size_t most) override {
    refreshed();
    return to_.receive(std::move(name), reader, most);
  }
  boost::asio::awaitable<poller::Settled> ack(std::string name, std::vector<Ack> all) override {
    return to_.ack(std::move(name), std::move(all));
  }
  void rewind(const std::string& name) override { to_.rewind(name); }
  [[nodiscard]] Result<poller::Decoded> decode(std::string_view bytes) const override { return to_.decode(bytes); }
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> referenced(const std::string& name) const override {
    return to_.referenced(name);
  }
  boost::asio::awaitable<poller::Expunged> expunge(std::string name, poller::RetentionPolicy choose) override {
    return to_.expunge(std::move(name), std::move(choose));
  }
  [[nodiscard]] poller::Contention contention() const override { return to_.contention(); }
  [[nodiscard]] std::string location(const std::string& name) const override { return to_.location(name); }
  using poller::Mailbox::post;
  std::vector<poller::WriteReceipt> post(const std::string& name, std::span<const schema::Message> messages) override {
    std::vector<poller::WriteReceipt> results;
    told([&] {
      results = to_.post(name, messages);
      const auto busy = std::find_if(results.begin(), results.end(), [](const auto& one) { return one.put == WriteStatus::busy; });
      return busy == results.end() ? poller::WriteReceipt{} : *busy;
    });
    return results;
  }
  void track(const std::string& name, const schema::MessageKey& key) override { to_.track(name, key); }
  [[nodiscard]] ReadStatus read_status(const std::string& name, const schema::MessageKey& key) const override { return to_.read_status(name, key); }
  void untrack(const std::string& name, const schema::MessageKey& key) override { to_.untrack(name, key); }
  poller::WriteReceipt recall(const std::string& name, std::span<const schema::MessageKey> keys) override {
    return told([&] { return to_.recall(name, keys); });
  }

 private:
  static boost::asio::awaitable<bool> a_moment() {
    co_await poller::pause_jittered(std::chrono::milliseconds(1), std::chrono::milliseconds(2));
    co_return true;
  }
  static boost::asio::awaitable<bool> look(poller::Mailbox& mailbox) {
    co_await mailbox.sync();
    co_return true;
  }
  void refreshed() { static_cast<void>(test::run_awaitable(look(to_))); }
  template <class Call>
  poller::WriteReceipt told(Call call) {
    refreshed();
    auto result = call();
    for (int i = 0; i < 10000 && result.put == WriteStatus::busy; ++i) {
      static_cast<void>(test::run_awaitable(a_moment()));
      result = call();
    }
    return result;
  }
  poller::Mailbox& to_;
};

/// Its owner reads a stream through the group, and acknowledges what he has taken.
class Redis final : public System {
 public:
  Redis() { reopen(); }
  poller::Mailbox& mailbox() override { return *looked_; }
  void reopen() override {
    looked_.reset();
    mailbox_.reset();  // its thread has ended
    poller::RedisTeamSettings settings;
    settings.address = test::shared_redis().address(team_);
    settings.team = "team";
    settings.lead = "team-lead";
    settings.reader = "daemon-1";
    mailbox_ = std::make_unique<poller::RedisMailbox>(clock_, settings);
    looked_ = std::make_unique<Looked>(*mailbox_);
  }
  std::vector<schema::Message> unread() override {
    std::vector<schema::Message> found;
    const auto some = call(poller::scripts::show(), {stream()}, {"", "0", "", "1000", "8388608", "4194304"});
    for (std::size_t i = 2; i < some.parts.size(); ++i) {
      const auto letter = schema::Envelope::decode(some.at(i).at(1).text);
      if (letter && !letter->text("from").empty()) found.push_back(poller::own_message_of(*letter));
    }
    return found;
  }
  void owner_marks_all() override {
    static_cast<void>(direct_.call(poller::RedisCommand{"XGROUP", "CREATE", stream(), "g", "0"}));  // unless it is there
    call({"XREADGROUP", "GROUP", "g", "worker-1", "STREAMS", stream(), ">"});
    poller::RedisCommand acknowledge{"XACK", stream(), "g"};
    for (const auto& one : entries()) acknowledge.push_back(one.at(0).text);
    call(acknowledge);
  }
  void owner_removes_all() override {
    poller::RedisCommand remove{"XDEL", stream()};
    for (const auto& one : entries()) remove.push_back(one.at(0).text);
    call(remove);
  }
  void other_writes(const schema::Message& message) override {
    schema::Envelope letter;
    letter.set("id", schema::content_hash(message.text).substr(0, 32)).set("from", message.from).set("type", "message");
    letter.set("payload", message.text).set_raw("ts", poller::seconds_of_timestamp(message.timestamp));
    write(letter.encode());
  }
  /// An older copy of all that the engine has of the team.
  void remember() override {
    before_.clear();
    for (const auto& key : call({"KEYS", "ip:{" + team_ + "}:*"}).parts)
      before_[key.text] = call({"DUMP", key.text}).text;
  }
  void put_back() override {
    for (const auto& key : call({"KEYS", "ip:{" + team_ + "}:*"}).parts) call({"DEL", key.text});
    for (const auto& [key, bytes] : before_) call({"RESTORE", key, "0", bytes});
  }
  void hold(bool) override {}
  void block(bool blocked) override {
    if (blocked) {
      call({"RENAME", stream(), keys_.of("aside")});
      call({"SET", stream(), "x"});
    } else {
      call({"RENAME", keys_.of("aside"), stream()});
    }
  }
  void look() override { static_cast<void>(test::run_awaitable(mailbox().receive(box, Access::peek, 100))); }
  void other_writes_nonsense() override { write("{\"from\": 1}"); }
  void other_rewrites() override {
    const auto all = entries();
    call({"DEL", stream()});
    for (const auto& one : all) write(boost::json::serialize(boost::json::parse(one.at(1).at(1).text)));
    other_writes({"worker-3", "in front", "", "2026-02-07T15:20:01.000Z", "", "f"});
  }
  void rest() override {}
  [[nodiscard]] schema::Message carried(schema::Message message) const override {
    return {message.from, message.text, "", message.timestamp, "", ""};
  }
  [[nodiscard]] std::string excused(std::string_view name) const override {
    if (name.starts_with("a box that somebody holds")) return "nobody holds a stream: each script is carried out as a whole";
    if (name.starts_with("only what may go")) return "what is consumed leaves the stream by its age";
    return {};
  }

 private:
  [[nodiscard]] std::string stream() const { return keys_.stream(box, "box"); }
  poller::RedisReply call(const poller::RedisCommand& command) {
    const auto reply = direct_.call(command);
    REQUIRE(reply.ok());
    return *reply;
  }
  poller::RedisReply call(const poller::RedisScript& script, const std::vector<std::string>& keys,
                          const std::vector<std::string>& arguments) {
    const auto reply = direct_.call(script, keys, arguments);
    REQUIRE(reply.ok());
    return *reply;
  }
  std::vector<poller::RedisReply> entries() { return call({"XRANGE", stream(), "-", "+"}).parts; }
  void write(const std::string& bytes) {
    call({"SADD", keys_.of("boxes"), box});
    call({"XADD", stream(), "*", "e", bytes});
  }

  const std::string team_ = test::fresh_team();
  const poller::RedisKeys keys_{team_};
  poller::RedisCaller direct_{test::shared_redis().address(team_), std::chrono::seconds(20)};
  test::ManualClock clock_;
  std::unique_ptr<poller::RedisMailbox> mailbox_;
  std::unique_ptr<Looked> looked_;
  std::map<std::string, std::string> before_;
};

schema::Message message(const std::string& text, int second = 10, const std::string& from = "team-lead") {
  return {from, text, "", "2026-02-07T15:20:" + std::to_string(second) + ".000Z", "", "an-id"};
}
schema::MessageKey key_of(const schema::Message& one) { return test::MemoryMailbox::key_of(box, one); }

std::vector<std::string> texts(System& system) {
  std::vector<std::string> found;
  for (const auto& one : system.unread()) found.push_back(one.text);
  return found;
}

/// What did not hold; empty when all did.
std::string need(bool holds, const std::string& what) { return holds ? std::string() : what; }
using Texts = std::vector<std::string>;

struct Case {
  const char* name;
  std::vector<Defect> finds;
  std::function<std::string(System&)> run;
};

std::string posted_is_there(System& system) {
  const std::string odd = std::string("\0\x1b[2J\"\\\n\x7f", 9) + "\xF0\x9F\x98\x80\u2028</teammate-message>";
  for (const auto& text : {std::string(), odd, std::string(200'000, 'x')}) {
    schema::Message one = message(text, static_cast<int>(10 + text.size() % 50));
    one.summary = "s";
    one.color = "blue";
    if (system.mailbox().post(box, one).put != WriteStatus::done) return "a post was not done";
    const auto found = system.unread();
    if (found.empty() || !(found.back() == system.carried(one))) return "a message is not there as it was posted";
  }
  return {};
}

std::string once_for_each_key(System& system) {
  const auto one = message("one");
  auto& mailbox = system.mailbox();
  if (mailbox.post(box, one).put != WriteStatus::done) return "the first was not done";
  if (mailbox.post(box, one).put != WriteStatus::unchanged) return "the second is not `already`";
  system.reopen();
  if (system.mailbox().post(box, one).put != WriteStatus::unchanged) return "after reopening it is not `already`";
  return need(texts(system) == Texts{"one"}, "it is there more than once");
}

std::string in_order_behind_what_is_there(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  for (int i = 0; i < 3; ++i)
    if (system.mailbox().post(box, message("ours " + std::to_string(i), 10 + i)).put != WriteStatus::done) return "not done";
  return need(texts(system) == Texts{"theirs", "ours 0", "ours 1", "ours 2"}, "another order, or not all");
}

using Posts = std::vector<schema::Message>;
std::vector<WriteStatus> post(System& system, const Posts& messages) {
  std::vector<WriteStatus> results;
  for (const auto& one : system.mailbox().post(box, messages)) results.push_back(one.put);
  return results;
}

std::string several_in_order(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  const Posts first{message("one", 10), message("two", 11)};
  if (post(system, first) != std::vector{WriteStatus::done, WriteStatus::done}) return "not all are done";
  system.reopen();  // as after a crash before anybody noted it
  system.rest();    // what two processes write in the same instant has no order
  const Posts more{message("two", 11), message("three", 12), message("three", 12), message("one", 10), message("four", 13)};
  if (post(system, more) != std::vector{WriteStatus::unchanged, WriteStatus::done, WriteStatus::unchanged, WriteStatus::unchanged, WriteStatus::done})
    return "what is there, or comes twice, is not `already`, or its neighbors are not done";
  if (texts(system) != Texts{"theirs", "one", "two", "three", "four"}) return "another order, or not each of them once";
  system.owner_marks_all();
  system.look();
  for (const auto& one : more)
    if (system.mailbox().read_status(box, key_of(one)) != ReadStatus::consumed) return "not all are followed";
  return need(post(system, {}).empty(), "there is a result for nothing");
}

std::string refused_stops_nobody(System& system) {
  const auto refused = system.refused();
  if (!refused) return {};
  const Posts messages{message("one", 10), *refused, message("two", 11)};
  if (post(system, messages) != std::vector{WriteStatus::done, WriteStatus::refused, WriteStatus::done})
    return "what is refused is not told, or it stops its neighbors";
  return need(texts(system) == Texts{"one", "two"}, "not those that are carried, in their order");
}

std::string several_held_are_busy(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  system.hold(true);
  const Posts ours{message("one", 10), message("two", 11)};
  if (post(system, ours) != std::vector{WriteStatus::busy, WriteStatus::busy}) return "not every one is `busy`";
  system.hold(false);
  if (texts(system) != Texts{"theirs"}) return "something was written into a held box";
  if (post(system, ours) != std::vector{WriteStatus::done, WriteStatus::done}) return "not done once it was free";
  return need(texts(system) == Texts{"theirs", "one", "two"}, "another order, or not all, once it was free");
}

std::string held_is_busy(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  system.hold(true);
  const auto held = system.mailbox().post(box, message("ours"));
  if (held.put != WriteStatus::busy || held.detail.empty()) return "a held box is not `busy`, with a word why";
  if (texts(system) != Texts{"theirs"}) return "something was written into a held box";
  system.hold(false);
  if (system.mailbox().post(box, message("ours")).put != WriteStatus::done) return "not done once it was free";
  return need(texts(system) == Texts{"theirs", "ours"}, "not there once it was free");
}

std::string blocked_is_said(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  system.block(true);
  const auto stopped = system.mailbox().post(box, message("ours"));
  if (stopped.put != WriteStatus::blocked || stopped.detail.empty()) return "not `blocked`, with a word at what to look";
  system.block(false);
  return need(texts(system) == Texts{"theirs"}, "something was written all the same");
}

std::string fate_by_marking(System& system) {
  const auto one = message("one");
  static_cast<void>(system.mailbox().post(box, one));
  system.look();
  if (system.mailbox().read_status(box, key_of(one)) != ReadStatus::waiting) return "unread, and not `waiting`";
  system.owner_marks_all();
  system.look();
  return need(system.mailbox().read_status(box, key_of(one)) == ReadStatus::consumed, "marked, and not `consumed`");
}

std::string fate_by_removal(System& system) {
  const auto one = message("one");
  static_cast<void>(system.mailbox().post(box, one));
  system.owner_removes_all();
  system.look();
  return need(system.mailbox().read_status(box, key_of(one)) == ReadStatus::consumed, "taken out, and not `consumed`");
}

std::string lost_is_told(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  system.remember();
  const auto one = message("one");
  static_cast<void>(system.mailbox().post(box, one));
  system.put_back();
  system.look();
  if (system.mailbox().read_status(box, key_of(one)) != ReadStatus::lost) return "overwritten, and not `lost`";
  if (system.mailbox().post(box, one).put != WriteStatus::done) return "it could not be posted again";
  system.look();
  return need(system.mailbox().read_status(box, key_of(one)) == ReadStatus::waiting, "posted again, and not `waiting`");
}

std::string fate_after_reopening(System& system) {
  const auto one = message("one");
  static_cast<void>(system.mailbox().post(box, one));
  system.reopen();
  system.mailbox().track(box, key_of(one));
  system.look();
  if (system.mailbox().read_status(box, key_of(one)) != ReadStatus::waiting) return "unread, and not `waiting`";
  system.owner_marks_all();
  system.look();
  return need(system.mailbox().read_status(box, key_of(one)) == ReadStatus::consumed, "marked, and not `consumed`");
}

std::string retracted_is_not_read(System& system) {
  const std::vector<schema::MessageKey> ours{key_of(message("ours")), key_of(message("never posted"))};
  if (system.mailbox().recall(box, ours).put != WriteStatus::gone) return "there is no box, and it is not `gone`";
  system.other_writes(message("theirs", 9, "worker-2"));
  static_cast<void>(system.mailbox().post(box, message("ours")));
  if (system.mailbox().recall(box, ours).put != WriteStatus::done) return "not done";
  if (system.mailbox().recall(box, ours).put != WriteStatus::done) return "a second time is no harm";
  return need(texts(system) == Texts{"theirs"}, "ours is read still, or theirs no more");
}

poller::Batch receive(System& system, Access reader = Access::exclusive, std::size_t most = 100) {
  return test::run_awaitable(system.mailbox().receive(box, reader, most));
}
poller::Settled ack(System& system, std::vector<Ack> disposals) {
  return test::run_awaitable(system.mailbox().ack(box, std::move(disposals)));
}
poller::Settled ack(System& system, const poller::Batch& batch, Ack disposal) {
  return ack(system, std::vector<Ack>(batch.taken.size(), disposal));
}
/// Of what was taken; "?" for what is no message.
Texts texts(System& system, const poller::Batch& batch) {
  Texts found;
  for (const auto& one : batch.taken) {
    const auto decoded = system.mailbox().decode(one.bytes);
    found.push_back(decoded ? decoded->message.text : "?");
  }
  return found;
}
void others_write(System& system, int count, int from = 0) {
  for (int i = from; i < from + count; ++i) system.other_writes(message("text " + std::to_string(i), 10 + i, "worker-2"));
}

std::string taken_once_in_order(System& system) {
  if (receive(system).state != BoxState::missing) return "there is no box, and it is not `missing`";
  others_write(system, 3);
  const auto batch = receive(system);
  if (texts(system, batch) != Texts{"text 0", "text 1", "text 2"}) return "not all, or in another order";
  if (ack(system, batch, Ack::ack).consumed != 3) return "not all were consumed";
  if (!receive(system).taken.empty()) return "something is shown again";
  return need(texts(system).empty(), "something is unread still");
}

std::string not_settled_comes_again(System& system) {
  others_write(system, 2);
  if (receive(system).taken.size() != 2) return "not all were shown";
  if (texts(system).size() != 2) return "something was consumed by looking";
  if (receive(system).taken.size() != 2) return "what was not settled is not shown again";
  system.reopen();
  if (receive(system).taken.size() != 2) return "after reopening it is not shown again";
  return need(texts(system).size() == 2, "something was consumed by looking");
}

std::string settling_twice_is_once(System& system) {
  others_write(system, 2);
  const auto batch = receive(system);
  static_cast<void>(ack(system, batch, Ack::ack));
  others_write(system, 1, 2);
  if (ack(system, {Ack::ack, Ack::ack}).consumed != 0) return "a second time consumed something";
  const auto still = texts(system);
  if (still.empty() || still.back() != "text 2") return "what came later was consumed";
  return need(texts(system, receive(system)) == Texts{"text 2"}, "what came later is not all that is new");
}

std::string left_is_not_touched(System& system) {
  others_write(system, 2);
  const auto batch = receive(system, Access::shared);
  if (ack(system, batch, Ack::skip).consumed != 0) return "something left was consumed";
  if (texts(system).size() != 2) return "something left was consumed";
  return need(receive(system, Access::shared).taken.empty(), "what was left is shown again");
}

std::string never_for_a_passer_by(System& system) {
  others_write(system, 2);
  const auto batch = receive(system, Access::peek);
  static_cast<void>(ack(system, batch, Ack::skip));
  if (texts(system).size() != 2) return "a passer-by consumed something";
  return need(receive(system, Access::exclusive).taken.size() == 2, "what was passed by is not new to the owner");
}

std::string what_comes_between_stays(System& system) {
  others_write(system, 1);
  const auto batch = receive(system);
  system.other_writes(message("between", 30, "worker-2"));
  static_cast<void>(ack(system, batch, Ack::ack));
  if (texts(system) != Texts{"between"} && texts(system) != Texts{"text 0", "between"})
    return "what came between was lost, or consumed";
  system.rest();
  const auto next = receive(system);
  return need(texts(system, next) == Texts{"between"}, "what came between is not all that is new");
}

std::string keys_stay(System& system) {
  others_write(system, 2);
  const auto batch = receive(system);
  const auto named = [&](const poller::Batch& some) {
    std::map<schema::MessageKey, std::string> names;
    const auto words = texts(system, some);
    for (std::size_t i = 0; i < words.size(); ++i) names[some.taken[i].key] = words[i];
    return names;
  };
  const auto before = named(batch);
  system.other_rewrites();
  system.reopen();
  const auto again = receive(system);
  const auto after = named(again);
  for (const auto& [key, text] : before)
    if (!after.contains(key) || after.at(key) != text) return "another key";
  return need(again.taken.size() == 3, "not all are there");
}

std::string bad_hides_nobody(System& system) {
  others_write(system, 1);
  system.other_writes_nonsense();
  system.other_writes(message("behind", 30, "worker-2"));
  const auto batch = receive(system);
  auto found = texts(system, batch);  // where it stands that says no time of its own is the system's matter
  const auto bad = std::find(found.begin(), found.end(), "?");
  if (bad == found.end()) return "the bad one is hidden";
  const bool is_whole = batch.taken[static_cast<std::size_t>(bad - found.begin())].bytes == R"({"from": 1})";
  found.erase(bad);
  if (found != Texts{"text 0", "behind"}) return "a neighbor is hidden";
  return need(is_whole, "its bytes are others");
}

std::string again_comes_at_the_next_look(System& system) {
  others_write(system, 3);
  static_cast<void>(receive(system));
  static_cast<void>(ack(system, {Ack::ack, Ack::requeue, Ack::ack}));
  return need(texts(system, receive(system)) == Texts{"text 1"}, "what did not fit is not what is shown again");
}

std::string rewound(System& system) {
  others_write(system, 2);
  static_cast<void>(ack(system, receive(system, Access::shared), Ack::skip));
  system.mailbox().rewind(box);
  return need(receive(system, Access::exclusive).taken.size() == 2, "what is unread is not shown again");
}

std::string in_pieces(System& system) {
  others_write(system, 7);
  Texts all;
  for (bool more = true; more;) {
    const auto batch = receive(system, Access::exclusive, 3);
    if (batch.taken.size() > 3) return "a piece is too large";
    for (const auto& text : texts(system, batch)) all.push_back(text);
    more = batch.more;
    static_cast<void>(ack(system, batch, Ack::ack));
  }
  if (all.size() != 7 || all.front() != "text 0" || all.back() != "text 6") return "not all came, or in another order";
  return need(texts(system).empty(), "not all were consumed");
}

std::string trims_what_may_go(System& system) {
  others_write(system, 3);
  static_cast<void>(ack(system, receive(system), Ack::ack));
  others_write(system, 1, 3);
  poller::RetentionPolicy first = [](std::span<const poller::Item>,
                            std::uint64_t) -> boost::asio::awaitable<std::optional<std::vector<std::size_t>>> {
    co_return std::vector<std::size_t>{0, 1};
  };
  const auto before = texts(system);
  const auto expunged = test::run_awaitable(system.mailbox().expunge(box, first));
  if (expunged.put != WriteStatus::done || expunged.entries != 2) return "not two are gone";
  return need(texts(system) == before, "something unread went too");
}

std::string held_is_told(System& system) {
  others_write(system, 2);
  const auto batch = receive(system);
  std::vector<schema::MessageKey> keys;
  for (const auto& one : batch.taken) keys.push_back(one.key);
  static_cast<void>(ack(system, batch, Ack::ack));
  static_cast<void>(receive(system));
  const auto held = system.mailbox().referenced(box);
  for (const auto& key : keys)
    if (!held(key)) return "a message that is there is not held";
  return need(!held(key_of(message("never", 40))), "a message is held that never was there");
}

std::string news_are_told(System& system) {
  const auto has_news = [&] {
    const auto boxes = system.mailbox().ready_boxes();
    if (!boxes) return false;
    const auto found = std::find_if(boxes->begin(), boxes->end(), [](const auto& one) { return one.box == box; });
    return found != boxes->end() && found->changed;
  };
  if (has_news()) return "there is news of nothing";
  others_write(system, 1);
  if (!has_news()) return "a new message is no news";
  system.rest();
  static_cast<void>(ack(system, receive(system), Ack::ack));
  static_cast<void>(ack(system, receive(system), Ack::ack));
  system.rest();
  static_cast<void>(ack(system, receive(system), Ack::ack));
  if (has_news()) return "there is news although nothing changed";
  others_write(system, 1, 1);
  return need(has_news(), "one more message is no news");
}

std::string others_are_seen(System& system) {
  others_write(system, 2);
  static_cast<void>(ack(system, receive(system, Access::observe), Ack::skip));
  system.owner_marks_all();
  const auto batch = receive(system, Access::observe);
  return need(batch.signs.size() == 2 && batch.signs[0].what == poller::ConsumerEvidence::What::consumed,
              "that somebody consumed them is not told");
}

std::string taken_back_is_consumed_again(System& system) {
  others_write(system, 3);
  system.remember();
  static_cast<void>(ack(system, receive(system), Ack::ack));
  system.put_back();
  others_write(system, 1, 3);
  for (const bool held : {true, false, false}) {
    system.hold(held);
    const auto batch = receive(system);
    static_cast<void>(ack(system, batch, Ack::ack));
  }
  return need(texts(system).empty(), "what somebody put back unread stays so");
}

std::string shown_and_taken_back_is_consumed_again(System& system) {
  others_write(system, 2);
  const auto shown = receive(system);
  system.remember();
  static_cast<void>(ack(system, shown, Ack::ack));
  others_write(system, 1, 2);
  for (int i = 0; i < 3; ++i) static_cast<void>(ack(system, receive(system), Ack::ack));
  system.put_back();
  for (int i = 0; i < 3; ++i) static_cast<void>(ack(system, receive(system), Ack::ack));
  return need(texts(system).empty(), "what had been shown and was put back unread stays so");
}

const std::vector<Case> cases{
    {"what is posted is there as it was posted", {Defect::cuts_texts}, posted_is_there},
    {"the same key posted twice is there once, also after reopening", {Defect::posts_twice}, once_for_each_key},
    {"posts stand behind what is there, in their order",
     {Defect::puts_in_front, Defect::replaces_all},
     in_order_behind_what_is_there},
    {"several at once stand there in their order, each once, and what was there is said",
     {Defect::posts_in_another_order, Defect::posts_the_first_only, Defect::posts_twice, Defect::says_done_for_all,
      Defect::puts_in_front, Defect::replaces_all, Defect::never_consumed},
     several_in_order},
    {"of several one that is refused stops none of the others",
     {Defect::ends_at_a_refused_one, Defect::says_done_for_all, Defect::posts_the_first_only},
     refused_stops_nobody},
    {"a box that somebody holds is busy for all of several, and takes them in their order later",
     {Defect::says_done_while_busy, Defect::writes_while_busy},
     several_held_are_busy},
    {"a box that somebody holds is busy: nothing is written, and it can be later",
     {Defect::says_done_while_busy, Defect::writes_while_busy},
     held_is_busy},
    {"what a person must look at is said, and nothing is written",
     {Defect::says_done_while_busy, Defect::writes_while_busy},
     blocked_is_said},
    {"a message waits until its owner has marked it", {Defect::never_consumed}, fate_by_marking},
    {"a message that its owner took out was consumed", {Defect::never_consumed}, fate_by_removal},
    {"what another one wrote over is lost, and can be posted again", {Defect::tells_lost_as_consumed}, lost_is_told},
    {"what an earlier process posted can be followed", {Defect::follows_nothing}, fate_after_reopening},
    {"what is retracted is not read, and nothing else is touched",
     {Defect::retracts_all, Defect::retracts_nothing},
     retracted_is_not_read},
    {"what others wrote is taken once, in its order",
     {Defect::shows_newest_first, Defect::shows_settled_again, Defect::consumes_nothing},
     taken_once_in_order},
    {"what is taken and not settled comes again, also after reopening",
     {Defect::forgets_what_it_showed, Defect::consumes_when_shown},
     not_settled_comes_again},
    {"to settle twice is to settle once", {Defect::consumes_all}, settling_twice_is_once},
    {"what is left is not touched, and not shown again",
     {Defect::consumes_what_is_left, Defect::shows_settled_again},
     left_is_not_touched},
    {"for a passer-by nothing is consumed, and what he saw is new to the owner",
     {Defect::consumes_when_shown, Defect::consumes_all},
     never_for_a_passer_by},
    {"what comes between a look and its settling is neither lost nor consumed",
     {Defect::consumes_all},
     what_comes_between_stays},
    {"a message keeps its key over reopening and another's rewriting", {Defect::numbers_keys_by_place}, keys_stay},
    {"a bad one hides none of its neighbors, and its bytes are there", {Defect::ends_at_a_bad_one}, bad_hides_nobody},
    {"what did not fit is shown at the next look",
     {Defect::settles_what_must_stay, Defect::forgets_what_it_showed},
     again_comes_at_the_next_look},
    {"after a rewind what is unread is shown again", {Defect::rewinds_nothing}, rewound},
    {"a look comes in pieces of what was asked for", {Defect::gives_all_at_once}, in_pieces},
    {"only what may go is taken out", {Defect::trims_all}, trims_what_may_go},
    {"what stands in a box is held", {Defect::holds_nothing}, held_is_told},
    {"a box has news when something is in it that was not shown", {Defect::has_no_news}, news_are_told},
    {"what was consumed and is put back unread is consumed again, however long the box is held",
     {Defect::consumes_once},
     taken_back_is_consumed_again},
    {"what had been shown, was consumed and is put back unread is consumed again",
     {Defect::consumes_once},
     shown_and_taken_back_is_consumed_again},
    {"that somebody else consumes is seen", {Defect::sees_no_others}, others_are_seen},
};

}  // namespace

TEST_CASE("every mailbox system keeps the port") {
  std::vector<std::pair<std::string, std::function<std::unique_ptr<System>()>>> systems{
      {"memory", [] { return std::make_unique<Memory>(Defect::none); }},
      {"arrays", [] { return std::make_unique<Arrays>(); }},
      {"jsonl", [] { return std::make_unique<Jsonl>(); }},
      {"maildir", [] { return std::make_unique<Maildir>(); }},
  };
  if (test::shared_redis().runs())
    systems.emplace_back("redis", [] { return std::make_unique<Redis>(); });
  else
    WARN("no redis-server here: the port's suite does not run over Redis");
  for (const auto& [name, make] : systems) {
    for (const Case& one : cases) {
      CAPTURE(name, one.name);
      const auto system = make();
      if (system->excused(one.name).empty()) CHECK(one.run(*system) == "");
    }
  }
}

TEST_CASE("every case of the port's suite finds the defects that it is there for") {
  for (const Case& one : cases) {
    for (const Defect defect : one.finds) {
      CAPTURE(one.name, static_cast<int>(defect));
      Memory broken(defect);
      CHECK(one.run(broken) != "");
    }
  }
}

}  // namespace inbox_poller::mailbox_conformance
