// What every mailbox system has to show of the port (poller/mailbox/mailbox.hpp): each case runs over each system, and
// each one finds the defect that it is there for.
#include <functional>
#include <memory>

#include "schema/array_entry.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/mailbox_setting.hpp"
#include "tests/support/memory_mailbox.hpp"

using namespace inbox_poller;
using poller::Fate;
using poller::Put;
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
  void hold(bool held) override { mailbox_.obstruct(box, {held ? Put::busy : Put::done, "held"}); }
  void block(bool blocked) override { mailbox_.obstruct(box, {blocked ? Put::blocked : Put::done, "in the way"}); }
  void look() override { mailbox_.look(box); }

 private:
  test::MemoryMailbox mailbox_;
  test::MemoryMailbox::Box before_;
};

class Arrays final : public System {
 public:
  poller::Mailbox& mailbox() override { return *mailbox_; }
  void reopen() override { mailbox_ = make(); }
  std::vector<schema::Message> unread() override {
    std::vector<schema::Message> found;
    const auto reading = mailbox_->read(box, poller::ReadMode::unlocked);
    for (const auto& entry : reading.document.entries()) {
      const auto message = schema::decode_entry(reading.document.entry_bytes(entry));
      if (message && entry.read != schema::ReadFlag::read) found.push_back(*message);
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
    const auto now = schema::InboxDocument::scan(exists ? test::slurp(file()) : "[]", {});
    test::spill(file(), now.with_appended(schema::encode_entry(message)));
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
  void look() override { static_cast<void>(mailbox_->read_news(box, poller::ReadMode::unlocked)); }

 private:
  std::unique_ptr<poller::ArraysMailbox> make() {
    return std::make_unique<poller::ArraysMailbox>(at_.files, at_.clock, at_.team().string(), "team", at_.limits);
  }
  [[nodiscard]] std::filesystem::path file() const { return at_.folder() / (box + ".json"); }
  [[nodiscard]] std::filesystem::path lock() const { return at_.folder() / (box + ".json.lock"); }

  test::MailboxSetting at_;
  std::unique_ptr<poller::ArraysMailbox> mailbox_ = make();
  std::string before_;
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
    if (system.mailbox().post(box, one).put != Put::done) return "a post was not done";
    const auto found = system.unread();
    if (found.empty() || !(found.back() == one)) return "a message is not there as it was posted";
  }
  return {};
}

std::string once_for_each_key(System& system) {
  const auto one = message("one");
  auto& mailbox = system.mailbox();
  if (mailbox.post(box, one).put != Put::done) return "the first was not done";
  if (mailbox.post(box, one).put != Put::already) return "the second is not `already`";
  system.reopen();
  if (system.mailbox().post(box, one).put != Put::already) return "after reopening it is not `already`";
  return need(texts(system) == Texts{"one"}, "it is there more than once");
}

std::string in_order_behind_what_is_there(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  for (int i = 0; i < 3; ++i)
    if (system.mailbox().post(box, message("ours " + std::to_string(i), 10 + i)).put != Put::done) return "not done";
  return need(texts(system) == Texts{"theirs", "ours 0", "ours 1", "ours 2"}, "another order, or not all");
}

std::string held_is_busy(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  system.hold(true);
  const auto held = system.mailbox().post(box, message("ours"));
  if (held.put != Put::busy || held.detail.empty()) return "a held box is not `busy`, with a word why";
  if (texts(system) != Texts{"theirs"}) return "something was written into a held box";
  system.hold(false);
  if (system.mailbox().post(box, message("ours")).put != Put::done) return "not done once it was free";
  return need(texts(system) == Texts{"theirs", "ours"}, "not there once it was free");
}

std::string blocked_is_said(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  system.block(true);
  const auto stopped = system.mailbox().post(box, message("ours"));
  if (stopped.put != Put::blocked || stopped.detail.empty()) return "not `blocked`, with a word at what to look";
  system.block(false);
  return need(texts(system) == Texts{"theirs"}, "something was written all the same");
}

std::string fate_by_marking(System& system) {
  const auto one = message("one");
  static_cast<void>(system.mailbox().post(box, one));
  system.look();
  if (system.mailbox().fate(box, key_of(one)) != Fate::waiting) return "unread, and not `waiting`";
  system.owner_marks_all();
  system.look();
  return need(system.mailbox().fate(box, key_of(one)) == Fate::consumed, "marked, and not `consumed`");
}

std::string fate_by_removal(System& system) {
  const auto one = message("one");
  static_cast<void>(system.mailbox().post(box, one));
  system.owner_removes_all();
  system.look();
  return need(system.mailbox().fate(box, key_of(one)) == Fate::consumed, "taken out, and not `consumed`");
}

std::string lost_is_told(System& system) {
  system.other_writes(message("theirs", 9, "worker-2"));
  system.remember();
  const auto one = message("one");
  static_cast<void>(system.mailbox().post(box, one));
  system.put_back();
  system.look();
  if (system.mailbox().fate(box, key_of(one)) != Fate::lost) return "overwritten, and not `lost`";
  if (system.mailbox().post(box, one).put != Put::done) return "it could not be posted again";
  system.look();
  return need(system.mailbox().fate(box, key_of(one)) == Fate::waiting, "posted again, and not `waiting`");
}

std::string fate_after_reopening(System& system) {
  const auto one = message("one");
  static_cast<void>(system.mailbox().post(box, one));
  system.reopen();
  system.mailbox().follow(box, key_of(one));
  system.look();
  if (system.mailbox().fate(box, key_of(one)) != Fate::waiting) return "unread, and not `waiting`";
  system.owner_marks_all();
  system.look();
  return need(system.mailbox().fate(box, key_of(one)) == Fate::consumed, "marked, and not `consumed`");
}

std::string retracted_is_not_read(System& system) {
  const std::vector<schema::MessageKey> ours{key_of(message("ours")), key_of(message("never posted"))};
  if (system.mailbox().retract(box, ours).put != Put::gone) return "there is no box, and it is not `gone`";
  system.other_writes(message("theirs", 9, "worker-2"));
  static_cast<void>(system.mailbox().post(box, message("ours")));
  if (system.mailbox().retract(box, ours).put != Put::done) return "not done";
  if (system.mailbox().retract(box, ours).put != Put::done) return "a second time is no harm";
  return need(texts(system) == Texts{"theirs"}, "ours is read still, or theirs no more");
}

const std::vector<Case> cases{
    {"what is posted is there as it was posted", {Defect::cuts_texts}, posted_is_there},
    {"the same key posted twice is there once, also after reopening", {Defect::posts_twice}, once_for_each_key},
    {"posts stand behind what is there, in their order",
     {Defect::puts_in_front, Defect::replaces_all},
     in_order_behind_what_is_there},
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
};

}  // namespace

TEST_CASE("every mailbox system keeps the port") {
  const std::vector<std::pair<std::string, std::function<std::unique_ptr<System>()>>> systems{
      {"memory", [] { return std::make_unique<Memory>(Defect::none); }},
      {"arrays", [] { return std::make_unique<Arrays>(); }},
  };
  for (const auto& [name, make] : systems) {
    for (const Case& one : cases) {
      CAPTURE(name, one.name);
      const auto system = make();
      CHECK(one.run(*system) == "");
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
