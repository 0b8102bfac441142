// Processes of this machine, identified by number and start, because numbers are reused. One interface for Linux
// (/proc, pidfd) and macOS (sysctl).
#pragma once

#include <chrono>
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

  /// Returns the process that has this number now. Error "process.gone".
  virtual Result<ProcessRef> identify(long long pid) = 0;
  /// True while exactly this process lives; false for a zombie.
  virtual bool is_alive(const ProcessRef&) = 0;
  /// Returns the process and its living descendants, at most 256; empty when it is gone.
  virtual std::vector<ProcessRef> family(const ProcessRef&) = 0;
  /// Does the same for several processes at one moment, each process once; at most 256 in total.
  virtual std::vector<ProcessRef> families(const std::vector<ProcessRef>&) = 0;
  /// Returns a shell's foreground program: its only child, or its terminal's foreground leader. Empty if unknown.
  virtual std::optional<ProcessRef> in_front_of(const ProcessRef& shell) = 0;
  /// Returns the arguments of the command line; empty when unreadable.
  virtual std::vector<std::string> arguments(const ProcessRef&) = 0;
  /// Lists this user's living processes with an argument that is this word or begins with it and "=". A process that
  /// runs for long and replaces its program may be missed for a second. Decision thread only.
  virtual std::vector<ProcessRef> with_word(std::string_view word) = 0;
  /// Returns the start in milliseconds since the Unix epoch; 0 if unknown.
  virtual long long started_ms(const ProcessRef&) = 0;
  /// False for this process, its ancestors, process 1, and processes of other users.
  virtual bool may_signal(const ProcessRef&) = 0;
  /// Sends the signal to exactly this process. Success also if it is gone. Error "process.refused" where may_signal()
  /// is false, "process.signal" where the system refuses, such as for other users' processes.
  virtual Status signal(const ProcessRef&, int number) = 0;
};

/// Returns the parent of a process. Error "process.gone": it is gone, or has no parent.
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

 private:
  struct Passed {
    long long pid = 0;
    unsigned long long entry = 0;  // tells it from an earlier process with its number
    std::chrono::steady_clock::time_point began;
  };
  std::string word_;
  std::vector<Passed> passed_;  // had no argument `word_` at the last search; sorted by number
  std::chrono::steady_clock::time_point read_all_;
};

/// True if this is the command line of a shell, by the name of its first argument.
bool is_shell(const std::vector<std::string>& arguments);
/// True if this name or path is a shell's.
bool is_shell_name(std::string_view name);

/// The option by which a worker's command line names its agent ("name@team").
inline constexpr std::string_view agent_option = "--agent-id";

using schema::option_of;

/// Returns the namespace of this program's process numbers as clients write it ("host#pid:[4026531836]"), or empty.
std::string process_space();
/// True if the process began at this moment in a client's notation (Linux: ticks since the boot). Empty: unknown.
std::optional<bool> began_at(const ProcessRef&, std::string_view mark);

}  // namespace inbox_poller::poller
