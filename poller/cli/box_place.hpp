// Where the commands of a shared folder work, and how they show what they find there.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poller/cli/command.hpp"
#include "poller/broker/redis_caller.hpp"
#include "poller/mailbox/maildir/maildir_root.hpp"
#include "poller/mailbox/actor_mail.hpp"

namespace inbox_poller::poller::cli {

/// --root, --actor and --known-actors, or COLLAB_ROOT, COLLAB_ACTOR and COLLAB_KNOWN_ACTORS.
struct BoxPlace {
  std::string root;
  std::string actor;
  std::string known_actors = {};  // separated by commas

  /// The root as an absolute path, or the address of an engine as it is. "box.usage" when none was named.
  [[nodiscard]] Result<std::string> path() const;
  [[nodiscard]] Result<std::string> who() const;
  /// The names that `send` may write to; empty: every valid name. "name.invalid".
  [[nodiscard]] Result<std::vector<std::string>> known() const;
};

/// For so long a command waits for an engine that is away.
inline constexpr std::chrono::seconds engine_patience{30};

/// The box of an actor there. `patience`: for how long an engine that is away is waited for.
Result<std::unique_ptr<SharedBox>> open_box(const std::string& root, const std::string& actor, FileSystem&, const Clock&,
                                            boost::asio::any_io_executor, std::chrono::milliseconds patience);

/// The tasks there, for whoever is no actor.
struct TaskBoard {
  PosixFileSystem files;
  SystemClock clock;
  std::optional<MaildirRoot> root;
  std::optional<RedisCaller> redis;
  std::unique_ptr<TaskStore> tasks;
};
Result<std::unique_ptr<TaskBoard>> open_tasks(const std::string& root);

/// The address of an engine that names a team. "box.usage", "exchange.address".
Result<config::EngineAddress> team_address(const std::string& root);

inline constexpr Argument box_root[] = {
    takes<&BoxPlace::root>("--root DIR", "The folder that the agents share, or a Redis: redis+unix:///PATH#TEAM (default: COLLAB_ROOT)")};
inline constexpr Argument box_known_actors[] = {takes<&BoxPlace::known_actors>(
    "--known-actors NAMES", "Send to these names only, separated by commas (default: COLLAB_KNOWN_ACTORS, or all)")};

/// A message or a task for people: its fields, then its payload; nothing in it moves the cursor.
std::string box_text(const boost::json::object& envelope);

}  // namespace inbox_poller::poller::cli
