#include "poller/broker/box_copy.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cmath>
#include <map>
#include <set>

#include "poller/broker/redis_scripts.hpp"
#include "poller/mailbox/maildir/new_mail.hpp"
#include "poller/mailbox/maildir/task_files.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {

using schema::Envelope;

namespace {

constexpr const char* copied_mark_ms = "604800000";
constexpr const char* one_page = "50";
constexpr const char* bytes_a_page = "8388608";

/// File name from the time and the id; an id that is not a valid name is replaced by its hash.
std::string file_name(long long ns, const std::string& bytes_of_id) {
  const bool plain = bytes_of_id.size() <= 64 && schema::is_valid_name(bytes_of_id);
  return MaildirRoot::Fresh{ns, plain ? bytes_of_id : schema::content_hash(bytes_of_id).substr(0, 32)}.name();
}

class FolderStore final : public BoxStore {
 public:
  FolderStore(FileSystem& files, const Clock& clock, const std::string& root)
      : root_(files, clock, root), tasks_(root_, {}) {}

  Result<std::vector<std::string>> actors() override { return root_.actors(); }

  Result<std::vector<Envelope>> unread(const std::string& actor) override {
    NewMail mail(root_, actor);
    TRY(mail.look());
    std::vector<Envelope> found;
    const std::vector<Mail> order(mail.in_order().begin(), mail.in_order().end());
    for (const Mail& one : order) {
      auto open = mail.open(one, false);
      if (!open && is_errno(open.error(), ENOENT)) return Error{"mailbox.moved", actor + " received mail meanwhile: a team "
                                                                "is copied while it stands still. Copy again"};
      if (!open) return open.error();
      found.push_back(std::move(open->envelope));
    }
    if (!mail.unreadable().empty())
      return Error{"mailbox.unreadable", mail.unreadable().begin()->second + "; repair or remove that file, then copy again"};
    return found;
  }

  Result<std::vector<TaskFile>> tasks() override { return tasks_.all(); }
  Status make(const std::string& actor) override { return NewMail(root_, actor).make(); }

  Result<bool> put(const std::string& actor, const Envelope& message) override {
    auto known = boxes_.find(actor);
    if (known == boxes_.end()) {
      known = boxes_.emplace(actor, std::make_unique<Known>(root_, actor)).first;
      TRY(known->second->mail.look());
      for (const Mail& one : known->second->mail.in_order()) known->second->ids.insert(one.id);
    }
    const std::string id = schema::identity_of(message);
    if (!known->second->ids.insert(id).second) return false;
    // Keep the order: messages of the same nanosecond are read in the order of their file names.
    known->second->last_ns = std::max(order_of({TaskPlace::open, {}, {}, message}), known->second->last_ns + 1);
    const std::string name = file_name(known->second->last_ns, id);
    Mail meant;
    meant.id = id;
    meant.name = name;
    TRY(const auto taken, known->second->mail.was_taken(meant, message));
    if (taken) return false;
    return put(actor + "/new", name, message);
  }

  Result<bool> put(const TaskFile& task) override {
    const std::string id = schema::identity_of(task.task);
    if (task.task.text("status") == "late")
      return put(task_folder(TaskPlace::dead), "late-" + file_name(order_of(task), schema::content_hash(task.task.encode())),
                 task.task);
    const auto there = tasks_.find(id);
    if (there && there->task.text("status") != "late") return false;
    if (!there && there.error().code != "task.unknown") return there.error();
    const bool held = task.place == TaskPlace::claimed || task.place == TaskPlace::given_back;
    if (held && !is_actor_name(task.holder))
      return Error{"name.invalid", "task " + id + " is held by \"" + task.holder + "\", who can have no folder"};
    return put(held ? claimed_folder(task.holder) : task_folder(task.place),
               (task.place == TaskPlace::dead ? "dead-" : "") + file_name(order_of(task), id), task.task);
  }

 private:
  Result<bool> put(const std::string& below, const std::string& name, const Envelope& envelope) {
    TRY(const auto folder, root_.made_folder(below));
    const Status put = root_.put(folder, name, envelope);
    if (put.ok()) return true;
    return is_errno(put.error(), EEXIST) ? Result<bool>(false) : Result<bool>(put.error());
  }

  struct Known {
    NewMail mail;
    std::set<std::string> ids;
    long long last_ns = 0;  // of the file names written here
    Known(const MaildirRoot& root, const std::string& actor) : mail(root, actor) {}
  };

  MaildirRoot root_;
  TaskQueue tasks_;
  std::map<std::string, std::unique_ptr<Known>> boxes_;  // mailboxes written to
};

class RedisStore final : public BoxStore {
 public:
  RedisStore(const config::RedisAddress& address, std::chrono::milliseconds patience)
      : redis_(address, patience), keys_(address.team), tasks_(redis_, keys_, address.shown(), {}) {}

  Result<std::vector<std::string>> actors() override {
    TRY(const auto names, redis_.call(RedisCommand{"SMEMBERS", keys_.of("boxes")}));
    std::vector<std::string> found;
    for (const RedisReply& one : names.parts)
      if (is_actor_name(one.text)) found.push_back(one.text);
    std::sort(found.begin(), found.end());
    return found;
  }

  Result<std::vector<Envelope>> unread(const std::string& actor) override {
    std::vector<Envelope> found;
    for (std::string behind;;) {
      TRY(const auto some, redis_.call(scripts::show(), {keys_.stream(actor, RedisKeys::shared_box)},
                                    {"", "0", behind, one_page, bytes_a_page, std::to_string(most_envelope_bytes)}));
      for (std::size_t i = 2; i < some.parts.size(); ++i) {
        behind = some.at(i).at(0).text;
        auto envelope = Envelope::decode(some.at(i).at(1).text);
        if (!envelope) return in_context("the message " + behind + " to " + actor, envelope.error());
        found.push_back(*std::move(envelope));
      }
      if (some.at(0).as_number() == 0) return found;
    }
  }

  Result<std::vector<TaskFile>> tasks() override { return tasks_.all(); }

  Status make(const std::string& actor) override {
    const auto made = redis_.call(RedisCommand{"SADD", keys_.of("boxes"), actor});
    return made ? Status(Done{}) : Status(made.error());
  }

  Result<bool> put(const std::string& actor, const Envelope& message) override {
    const std::string id = schema::identity_of(message);
    const std::string node(RedisKeys::shared_box);
    const std::string bytes = message.encode();
    TRY(require_size_of(bytes));
    const double ts = std::clamp(message.number("ts").value_or(0), 0.0, 9e9);
    TRY(const auto sent, redis_.call(
        scripts::send(),
        {keys_.mark(node, actor, id.size() <= 200 ? id : schema::content_hash(id)), keys_.stream(actor, node), keys_.of("boxes")},
        {actor, actor, copied_mark_ms, "k", id, "f", message.text("from"), "y", message.text("type"), "q",
         message.text("in_reply_to"), "e", bytes, "t", std::to_string(std::llround(ts * 1000)), "s", std::string(message.raw("ts"))}));
    return sent.at(0).as_number() > 0;
  }

  Result<bool> put(const TaskFile& task) override { return tasks_.put(task); }

 private:
  RedisCaller redis_;
  const RedisKeys keys_;
  RedisTasks tasks_;
};

}  // namespace

std::unique_ptr<BoxStore> folder_store(FileSystem& files, const Clock& clock, const std::string& root) {
  return std::make_unique<FolderStore>(files, clock, root);
}

std::unique_ptr<BoxStore> redis_store(const config::RedisAddress& address, std::chrono::milliseconds patience) {
  return std::make_unique<RedisStore>(address, patience);
}

Result<BoxesCopied> copy_boxes(BoxStore& from, BoxStore& to) {
  BoxesCopied copied;
  const auto count = [&](const Result<bool>& put, std::size_t& of) -> Status {
    if (!put) return put.error();
    ++(*put ? of : copied.were_there);
    return Done{};
  };
  TRY(const auto actors, from.actors());
  for (const std::string& actor : actors) {
    TRY(const auto messages, from.unread(actor));
    TRY(to.make(actor));
    ++copied.actors;
    for (const Envelope& message : messages)
      TRY(count(to.put(actor, message), copied.messages));
  }
  TRY(const auto tasks, from.tasks());
  for (const TaskFile& task : tasks)
    TRY(count(to.put(task), copied.tasks));
  return copied;
}

}  // namespace inbox_poller::poller
