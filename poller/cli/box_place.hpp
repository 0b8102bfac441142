// The shared folder or Redis that the mail commands work on, and the text of its messages.
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

  /// Returns the root as an absolute path, or a Redis address unchanged. Error "mailbox.usage": no root, or a bad path.
  [[nodiscard]] Result<std::string> path() const;
  [[nodiscard]] Result<std::string> who() const;
  /// Names that `send` may write to; an empty list allows every valid name. Error "name.invalid".
  [[nodiscard]] Result<std::vector<std::string>> known() const;
};

/// Time that a command waits for a Redis server that does not answer.
inline constexpr std::chrono::seconds engine_patience{30};

/// Opens the mailbox of an actor. `patience`: how long to wait for a Redis server that does not answer.
Result<std::unique_ptr<SharedBox>> open_box(const std::string& root, const std::string& actor, FileSystem&, const Clock&,
                                            boost::asio::any_io_executor, std::chrono::milliseconds patience);

/// The tasks of a shared folder or Redis, for a caller that is not an actor.
struct TaskBoard {
  PosixFileSystem files;
  SystemClock clock;
  std::optional<MaildirRoot> root;
  std::optional<RedisCaller> redis;
  std::unique_ptr<TaskStore> tasks;
};
Result<std::unique_ptr<TaskBoard>> open_tasks(const std::string& root);

/// Parses the address of a Redis server, which must name a team. Errors: "mailbox.usage", "redis.address".
Result<config::RedisAddress> team_address(const std::string& root);

inline constexpr Argument box_root[] = {takes<&BoxPlace::root>(
    "--root DIR", "Mail that agents share: a folder, or redis+unix:///PATH#TEAM (default: COLLAB_ROOT)")};
inline constexpr Argument box_known_actors[] = {takes<&BoxPlace::known_actors>(
    "--known-actors NAMES", "Send to these names only, separated by commas (default: COLLAB_KNOWN_ACTORS, or all)")};

/// Formats a message or a task for people: its fields, then its payload and result. All of it is made printable.
std::string box_text(const boost::json::object& envelope);

}  // namespace inbox_poller::poller::cli
