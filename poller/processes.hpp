// Processes of this machine, told apart by number and start: a number alone may mean somebody else tomorrow. One seam
// for what Linux (/proc, pidfd) and macOS (sysctl) do differently.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/shutdown.hpp"
#include "schema/arguments.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

using handlers::ProcessRef;

class Processes {
 public:
  virtual ~Processes() = default;

  /// The process that has this number now; an error "process.gone" when none has.
  virtual Result<ProcessRef> identify(long long pid) = 0;
  /// True while exactly this process lives. A zombie does not.
  virtual bool is_alive(const ProcessRef&) = 0;
  /// The process and all its descendants that live now, at most 256; empty when it is gone.
  virtual std::vector<ProcessRef> family(const ProcessRef&) = 0;
  /// The same of several at one moment, each process once.
  virtual std::vector<ProcessRef> families(const std::vector<ProcessRef>&) = 0;
  /// What a shell runs in front: its only child, or else the one that leads the group in front of its terminal. Empty
  /// when that cannot be told.
  virtual std::optional<ProcessRef> in_front_of(const ProcessRef& shell) = 0;
  /// The command line, its arguments one by one; empty when it cannot be read.
  virtual std::vector<std::string> arguments(const ProcessRef&) = 0;
  /// The processes of this user that live now and have this word on their command line.
  virtual std::vector<ProcessRef> with_word(std::string_view word) = 0;
  /// When it started, milliseconds since the Unix epoch; 0 when it cannot be told.
  virtual long long started_ms(const ProcessRef&) = 0;
  /// False for our own process, its ancestors, process 1, and processes of other users.
  virtual bool may_signal(const ProcessRef&) = 0;
  /// Sends the signal to exactly this process. Success also when it has gone meanwhile. Refuses what may_signal() does
  /// not allow, but for other users' processes, which the system refuses.
  virtual Status signal(const ProcessRef&, int number) = 0;
};

/// Whose child the process is now; an error "process.gone" when it is not there, or nobody's.
Result<ProcessRef> parent_of(const ProcessRef&);

class SystemProcesses final : public Processes {
 public:
  Result<ProcessRef> identify(long long pid) override;
  bool is_alive(const ProcessRef&) override;
  std::vector<ProcessRef> family(const ProcessRef&) override;
  std::vector<ProcessRef> families(const std::vector<ProcessRef>&) override;
  std::optional<ProcessRef> in_front_of(const ProcessRef& shell) override;
  std::vector<std::string> arguments(const ProcessRef&) override;
  std::vector<ProcessRef> with_word(std::string_view word) override;
  long long started_ms(const ProcessRef&) override;
  bool may_signal(const ProcessRef&) override;
  Status signal(const ProcessRef&, int number) override;
};

/// True when this command line is that of a shell, by the name under which it was started.
bool is_shell(const std::vector<std::string>& arguments);
/// True when a program of this name, or path, is one.
bool is_shell_name(std::string_view name);

/// With which a worker's command line says which agent it is ("name@team").
inline constexpr std::string_view agent_option = "--agent-id";

using schema::option_of;

/// Where this program's process numbers hold, as clients write it ("host#pid:[4026531836]"); empty when it cannot be
/// told.
std::string process_space();
/// Whether the process began at the moment that a client calls so (on Linux clock ticks since the boot); empty when the
/// two cannot be compared.
std::optional<bool> began_at(const ProcessRef&, std::string_view mark);

}  // namespace inbox_poller::poller
