// Mail and tasks of agents that share them, from one place to another: from a folder to Redis, back, or between two of a
// kind. What is unread and all tasks go along, in their order; what was taken stays where it was. Nothing is taken away,
// and what is there already is not written again, so a copy that was broken off is simply made again.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "config/engine_address.hpp"
#include "poller/clock.hpp"
#include "poller/broker/redis_tasks.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/task_store.hpp"

namespace inbox_poller::poller {

class BoxStore {
 public:
  virtual ~BoxStore() = default;
  /// Whoever has a mailbox.
  virtual Result<std::vector<std::string>> actors() = 0;
  virtual Result<std::vector<schema::Envelope>> unread(const std::string& actor) = 0;
  virtual Result<std::vector<TaskFile>> tasks() = 0;

  virtual Status make(const std::string& actor) = 0;
  /// False when that message is or was there.
  virtual Result<bool> put(const std::string& actor, const schema::Envelope& message) = 0;
  /// False when there is a task of that id, or that late result.
  virtual Result<bool> put(const TaskFile& task) = 0;
};

std::unique_ptr<BoxStore> folder_store(FileSystem&, const Clock&, const std::string& root);
std::unique_ptr<BoxStore> redis_store(const config::EngineAddress&, std::chrono::milliseconds patience);

struct BoxesCopied {
  std::size_t actors = 0, messages = 0, tasks = 0;
  std::size_t were_there = 0;  // of messages and tasks
};
Result<BoxesCopied> copy_boxes(BoxStore& from, BoxStore& to);

}  // namespace inbox_poller::poller
