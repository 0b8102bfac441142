// Copies mail and tasks of shared mailboxes between stores: folder to Redis, Redis to folder, or two of a kind.
// Unread messages and all tasks are copied in order; read messages are not. The source is not changed, and existing
// items are not written again. An interrupted copy is therefore simply repeated.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "config/redis_address.hpp"
#include "poller/clock.hpp"
#include "poller/broker/redis_tasks.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/task_store.hpp"

namespace inbox_poller::poller {

/// One store of shared mailboxes and tasks. Calls block. Errors: those of the file system or of broker.hpp.
class BoxStore {
 public:
  virtual ~BoxStore() = default;
  /// Names of all actors that have a mailbox.
  virtual Result<std::vector<std::string>> actors() = 0;
  /// Unread messages of `actor`, oldest first. Errors: "mailbox.moved" if mail was received meanwhile, "mailbox.unreadable" for
  /// a malformed file.
  virtual Result<std::vector<schema::Envelope>> unread(const std::string& actor) = 0;
  /// All tasks, in every state.
  virtual Result<std::vector<TaskFile>> tasks() = 0;

  /// Creates the mailbox of `actor` unless it exists.
  virtual Status make(const std::string& actor) = 0;
  /// Stores a message. False if the message is or was there.
  virtual Result<bool> put(const std::string& actor, const schema::Envelope& message) = 0;
  /// Stores a task. False if a task with this id, or this late result, is there. Errors: "name.invalid" in a folder, if
  /// the holder's name cannot name a folder.
  virtual Result<bool> put(const TaskFile& task) = 0;
};

/// Opens the store in a folder. The file system and the clock must outlive the store.
std::unique_ptr<BoxStore> folder_store(FileSystem&, const Clock&, const std::string& root);
/// Opens the store in Redis. `patience`: how long each call is retried while Redis is unreachable.
std::unique_ptr<BoxStore> redis_store(const config::RedisAddress&, std::chrono::milliseconds patience);

/// Counts of one copy.
struct BoxesCopied {
  std::size_t actors = 0, messages = 0, tasks = 0;
  std::size_t were_there = 0;  // messages and tasks that were not written again
};
/// Copies everything from `from` to `to`. Stops at the first error; the items copied before stay.
Result<BoxesCopied> copy_boxes(BoxStore& from, BoxStore& to);

}  // namespace inbox_poller::poller
