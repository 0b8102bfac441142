// Where the commands of a shared folder work, and how they show what they find there.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "poller/cli/command.hpp"

namespace inbox_poller::poller::cli {

/// --root and --actor, or COLLAB_ROOT and COLLAB_ACTOR.
struct BoxPlace {
  std::string root;
  std::string actor;

  /// The root as an absolute path. "box.usage" when none was named.
  [[nodiscard]] Result<std::string> path() const;
  [[nodiscard]] Result<std::string> who() const;
};

void add_box_root(CLI::App& command, BoxPlace& place);

/// Tells what went wrong: 2 for a wrong command line, 4 for what is not there.
ExitCode fail_box(const Context& context, const Error& error);

/// A message or a task for people: its fields, then its payload; nothing in it moves the cursor.
std::string box_text(const boost::json::object& envelope);

}  // namespace inbox_poller::poller::cli
