#include "poller/processes.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <utility>

#ifdef __linux__
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <charconv>
#include <cstring>
#include <ctime>
#include <memory>
#elif defined(__APPLE__)
#include <sys/sysctl.h>

#include <cstring>
#else
#error "how to look at processes is not known here: write look(), look_at_all(), command_line() and start_ms()"
#endif

#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

namespace {

constexpr std::size_t most_of_family = 256;
constexpr std::size_t most_ancestors = 1024;
constexpr std::size_t most_of_any_line = 64 * 1024;  // bytes of each command line in a search of all
/// A process of this age has replaced its program for the last time: shells and wrappers do so when they begin.
constexpr std::chrono::seconds settles_after{10};
/// A client needs more time from its start to its first message, so no search may trust an older one.
constexpr std::chrono::seconds search_lasts{1};

struct Seen {
  ProcessRef process;
  long long parent = 0;
  long long group = 0;     // process group
  long long in_front = 0;  // foreground group of its terminal; 0 or less: none
};

#ifdef __linux__

std::optional<long long> decimal(std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Reads a file of /proc, whose size is not known beforehand.
std::string contents(const std::string& path, std::size_t most = std::string::npos) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes;
  std::array<char, 4096> buffer;
  while (file.get() >= 0 && bytes.size() < most) {
    const auto n = ::read(file.get(), buffer.data(), std::min(buffer.size(), most - bytes.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return bytes;
}

/// Returns the id of this boot. Start times count from the boot, so they are unique only together with it.
const std::string& boot_id() {
  static const std::string id = [] {
    std::string text = contents("/proc/sys/kernel/random/boot_id");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }();
  return id;
}

std::string path_of(long long pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

/// Parses proc(5): "pid (comm) state ppid …"; the start time is field 22. A program chooses comm freely, with spaces
/// and parentheses. No later field has a parenthesis.
std::optional<Seen> look(long long pid) {
  const std::string stat = contents(path_of(pid, "stat"));
  std::size_t at = stat.rfind(") ");
  if (at == std::string::npos) return std::nullopt;
  std::array<std::string_view, 23> fields;
  at += 2;
  for (std::size_t number = 3; number < fields.size(); ++number) {
    const std::size_t end = std::min(stat.find(' ', at), stat.size());
    fields[number] = std::string_view(stat).substr(at, end - at);
    at = std::min(end + 1, stat.size());
  }
  if (fields[3] == "Z" || fields[3] == "X") return std::nullopt;  // ended, but not yet reaped
  const auto parent = decimal(fields[4]);
  if (!parent || !decimal(fields[22])) return std::nullopt;
  return Seen{{pid, std::string(fields[22]) + "@" + boot_id()},
              *parent,
              decimal(fields[5]).value_or(0),
              decimal(fields[8]).value_or(0)};
}

std::vector<std::string> command_line(long long pid, std::size_t most = std::string::npos) {
  std::vector<std::string> arguments;
  const std::string bytes = contents(path_of(pid, "cmdline"), most);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
    arguments.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

/// Lists the numbers of all processes, each with the number of its entry, which another process does not have.
std::vector<std::pair<long long, unsigned long long>> all_numbers() {
  std::vector<std::pair<long long, unsigned long long>> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr)
    if (const auto pid = decimal({entry->d_name, std::strlen(entry->d_name)})) numbers.emplace_back(*pid, entry->d_ino);
  return numbers;
}

std::vector<Seen> look_at_all() {
  std::vector<Seen> all;
  for (const auto& [pid, entry] : all_numbers())
    if (auto seen = look(pid)) all.push_back(*std::move(seen));
  return all;
}

bool is_of_this_user(long long pid) {
  struct stat info {};
  return ::stat(path_of(pid, "").c_str(), &info) == 0 && info.st_uid == ::geteuid();
}

long long in_ms(const timespec& time) { return static_cast<long long>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000; }

long long start_ms(std::string_view started) {
  const std::size_t mark = started.find('@');
  const auto ticks = decimal(started.substr(0, mark));
  const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  timespec wall{};
  timespec since_boot{};
  if (!ticks || mark == std::string_view::npos || started.substr(mark + 1) != boot_id() || ticks_per_second <= 0 ||
      ::clock_gettime(CLOCK_REALTIME, &wall) != 0 || ::clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0)
    return 0;
  return in_ms(wall) - in_ms(since_boot) + *ticks * 1000 / ticks_per_second;
}

std::string name_of_space() {
  std::array<char, 256> host{};
  std::array<char, 128> space{};
  const auto length = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  if (length <= 0 || ::gethostname(host.data(), host.size() - 1) != 0) return {};
  return std::string(host.data()) + "#" + std::string(space.data(), static_cast<std::size_t>(length));
}

#elif defined(__APPLE__)

Seen seen_in(const kinfo_proc& info) {
  const timeval& start = info.kp_proc.p_starttime;
  return {{info.kp_proc.p_pid, std::to_string(static_cast<long long>(start.tv_sec) * 1'000'000 + start.tv_usec)},
          info.kp_eproc.e_ppid,
          info.kp_eproc.e_pgid,
          info.kp_eproc.e_tpgid};
}

bool is_zombie(const kinfo_proc& info) { return info.kp_proc.p_stat == SZOMB; }

std::optional<kinfo_proc> info_of(long long pid) {
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, static_cast<int>(pid)};
  kinfo_proc info{};
  std::size_t size = sizeof info;
  if (::sysctl(name, 4, &info, &size, nullptr, 0) != 0 || size != sizeof info || is_zombie(info)) return std::nullopt;
  return info;
}

std::optional<Seen> look(long long pid) {
  const auto info = info_of(pid);
  return info ? std::optional(seen_in(*info)) : std::nullopt;
}

std::vector<Seen> look_at_all() {
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_ALL};
  std::vector<kinfo_proc> infos;
  for (int attempt = 0; attempt < 4; ++attempt) {  // processes may start between the two calls
    std::size_t size = 0;
    if (::sysctl(name, 3, nullptr, &size, nullptr, 0) != 0) return {};
    infos.resize(size / sizeof(kinfo_proc) + 16);
    size = infos.size() * sizeof(kinfo_proc);
    if (::sysctl(name, 3, infos.data(), &size, nullptr, 0) == 0) {
      infos.resize(size / sizeof(kinfo_proc));
      break;
    }
    infos.clear();
    if (errno != ENOMEM) return {};
  }
  std::vector<Seen> all;
  for (const kinfo_proc& info : infos)
    if (!is_zombie(info)) all.push_back(seen_in(info));
  return all;
}

/// Lists the numbers of all processes; 0 says that nothing tells a process from an earlier one with its number.
std::vector<std::pair<long long, unsigned long long>> all_numbers() {
  std::vector<std::pair<long long, unsigned long long>> numbers;
  for (const Seen& seen : look_at_all()) numbers.emplace_back(seen.process.pid, 0);
  return numbers;
}

bool is_of_this_user(long long pid) {
  const auto info = info_of(pid);
  return info && info->kp_eproc.e_ucred.cr_uid == ::geteuid();
}

std::string name_of_space() { return {}; }

/// Parses the count of arguments, the program's path, padding with NULs, then the arguments.
std::vector<std::string> command_line(long long pid, std::size_t most = std::string::npos) {
  int name[] = {CTL_KERN, KERN_PROCARGS2, static_cast<int>(pid)};
  std::size_t size = 0;
  if (::sysctl(name, 3, nullptr, &size, nullptr, 0) != 0) return {};
  std::string bytes(size, '\0');
  if (::sysctl(name, 3, bytes.data(), &size, nullptr, 0) != 0) return {};
  bytes.resize(std::min({size, bytes.size(), most}));
  int count = 0;
  if (bytes.size() < sizeof count) return {};
  std::memcpy(&count, bytes.data(), sizeof count);
  std::size_t at = bytes.find_first_not_of('\0', bytes.find('\0', sizeof count));
  std::vector<std::string> arguments;
  for (; count > 0 && at < bytes.size(); --count) {
    const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
    arguments.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

long long start_ms(std::string_view started) {
  long long microseconds = 0;
  for (const char digit : started) microseconds = microseconds * 10 + (digit - '0');
  return microseconds / 1000;
}

#endif

/// Returns how long the process has run; 0 if unknown.
std::chrono::milliseconds age_of(long long pid) {
  const auto seen = look(pid);
  const long long began = seen ? start_ms(seen->process.started) : 0;
  if (began == 0) return {};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(now) - std::chrono::milliseconds(began), {});
}

/// True if an argument is this word or begins with it and "=", as option_of reads it.
bool has_word(const std::vector<std::string>& arguments, std::string_view word) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& one) {
    return one.starts_with(word) && (one.size() == word.size() || one[word.size()] == '=');
  });
}

bool is_number_of_one(long long pid) { return pid > 0 && pid <= INT32_MAX; }

/// True for this process and its ancestors.
bool is_ours(long long pid) {
  long long ancestor = ::getpid();
  for (std::size_t i = 0; i < most_ancestors && ancestor > 1; ++i) {
    if (ancestor == pid) return true;
    const auto seen = look(ancestor);
    if (!seen) return false;
    ancestor = seen->parent;
  }
  return false;
}

#if defined(__linux__) && defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
/// Signals through a pidfd. Returns 0 or an errno; empty when the kernel lacks the calls (before 5.3, or a container's
/// filter).
std::optional<int> signal_by_handle(const ProcessRef& process, int number, Processes& processes) {
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process.pid), 0)));
  if (handle.get() < 0) return errno == ENOSYS || errno == EPERM ? std::nullopt : std::optional(errno);
  // A pidfd refers to one process for good. Only a check after opening shows which one.
  if (!processes.is_alive(process)) return ESRCH;
  if (::syscall(SYS_pidfd_send_signal, handle.get(), number, nullptr, 0) == 0) return 0;
  return errno == ENOSYS ? std::nullopt : std::optional(errno);
}
#else
std::optional<int> signal_by_handle(const ProcessRef&, int, Processes&) { return std::nullopt; }
#endif

int signal_by_number(const ProcessRef& process, int number, Processes& processes) {
  if (!processes.is_alive(process)) return ESRCH;
  return ::kill(static_cast<pid_t>(process.pid), number) == 0 ? 0 : errno;
}

}  // namespace

bool is_shell(const std::vector<std::string>& arguments) {
  return !arguments.empty() && is_shell_name(arguments.front());
}

bool is_shell_name(std::string_view name) {
  name.remove_prefix(std::min(name.find_last_of('/') + 1, name.size()));  // npos + 1 is 0
  if (name.starts_with('-')) name.remove_prefix(1);                       // a login shell
  constexpr std::array<std::string_view, 23> shells{
      "sh",  "bash",    "rbash", "zsh", "dash",    "ash", "fish",   "ksh",   "ksh93", "mksh", "oksh", "tcsh",
      "csh", "bsd-csh", "yash",  "nu",  "busybox", "ion", "elvish", "xonsh", "osh",   "ysh",  "pwsh"};
  const auto is_one = [&](std::string_view one) {
    return std::find(shells.begin(), shells.end(), one) != shells.end();
  };
  // Several installed versions have names such as "bash-5.2" or "zsh5".
  auto plain = name.substr(0, name.find_last_not_of("0123456789.") + 1);
  if (plain.size() < name.size() && plain.ends_with('-')) plain.remove_suffix(1);
  return is_one(name) || is_one(plain);
}

Result<ProcessRef> SystemProcesses::identify(long long pid) {
  auto seen = is_number_of_one(pid) ? look(pid) : std::nullopt;
  if (!seen) return Error{"process.gone", "process " + std::to_string(pid) + " does not exist"};
  return std::move(seen->process);
}

bool SystemProcesses::is_alive(const ProcessRef& process) {
  const auto now = identify(process.pid);
  return now.ok() && *now == process;
}

std::vector<ProcessRef> SystemProcesses::family(const ProcessRef& first) { return families({first}); }

std::vector<ProcessRef> SystemProcesses::families(const std::vector<ProcessRef>& firsts) {
  const std::vector<Seen> all = look_at_all();
  std::vector<ProcessRef> family;
  const auto add = [&family](const ProcessRef& one) {
    const bool is_new = std::find(family.begin(), family.end(), one) == family.end();
    if (is_new && family.size() < most_of_family) family.push_back(one);
  };
  for (const ProcessRef& first : firsts)
    for (const Seen& seen : all)
      if (seen.process == first) add(first);
  for (std::size_t i = 0; i < family.size(); ++i)
    for (const Seen& seen : all)
      if (seen.parent == family[i].pid) add(seen.process);
  return family;
}

std::optional<ProcessRef> SystemProcesses::in_front_of(const ProcessRef& shell) {
  std::vector<Seen> children;
  for (Seen& seen : look_at_all())
    if (seen.parent == shell.pid) children.push_back(std::move(seen));
  if (!is_alive(shell)) return std::nullopt;  // they may be another process's children
  if (children.size() > 1)
    std::erase_if(children, [](const Seen& child) {
      return child.in_front <= 0 || child.group != child.in_front || child.process.pid != child.group;
    });
  return children.size() == 1 ? std::optional(std::move(children.front().process)) : std::nullopt;
}

std::vector<std::string> SystemProcesses::arguments(const ProcessRef& process) {
  if (!is_number_of_one(process.pid)) return {};
  auto read = command_line(process.pid);
  if (!is_alive(process)) return {};  // they may be another process's
  return read;
}

Result<ProcessRef> parent_of(const ProcessRef& process) {
  const auto seen = is_number_of_one(process.pid) ? look(process.pid) : std::nullopt;
  auto above = seen && seen->process == process && is_number_of_one(seen->parent) ? look(seen->parent) : std::nullopt;
  if (!above) return Error{"process.gone", "process " + std::to_string(process.pid) + " or its parent has gone"};
  return std::move(above->process);
}

std::vector<ProcessRef> SystemProcesses::with_word(std::string_view word) {
  const auto now = std::chrono::steady_clock::now();
  const bool reads_all = word != word_ || now - read_all_ >= search_lasts;
  if (reads_all) read_all_ = now;
  if (word != word_) passed_.clear();
  word_ = word;
  std::vector<ProcessRef> found;
  std::vector<Passed> passed;
  for (const auto& [pid, entry] : all_numbers()) {
    const auto at = std::lower_bound(passed_.begin(), passed_.end(), pid,
                                     [](const Passed& one, long long number) { return one.pid < number; });
    const bool is_known = at != passed_.end() && at->pid == pid && at->entry == entry && entry != 0;
    const auto began = is_known ? at->began : now - age_of(pid);
    const bool is_passed = is_known && !reads_all && now - began >= settles_after;
    if (is_passed || !is_of_this_user(pid) || !has_word(command_line(pid, most_of_any_line), word)) {
      passed.push_back({pid, entry, began});
    } else if (auto seen = look(pid)) {
      found.push_back(std::move(seen->process));
    }
  }
  std::sort(passed.begin(), passed.end(), [](const Passed& a, const Passed& b) { return a.pid < b.pid; });
  passed_ = std::move(passed);
  return found;
}

long long SystemProcesses::started_ms(const ProcessRef& process) { return start_ms(process.started); }

bool SystemProcesses::may_signal(const ProcessRef& process) {
  return is_number_of_one(process.pid) && process.pid != 1 && !is_ours(process.pid) && is_of_this_user(process.pid);
}

Status SystemProcesses::signal(const ProcessRef& process, int number) {
  const std::string named = "process " + std::to_string(process.pid);
  // kill(2) reads 0, -1 and other negative numbers as groups.
  if (!is_number_of_one(process.pid) || process.pid == 1 || is_ours(process.pid))
    return Error{"process.refused", named + " is not signalled: it is ours, one that we descend from, or none at all"};
  const auto by_handle = signal_by_handle(process, number, *this);
  const int failed = by_handle ? *by_handle : signal_by_number(process, number, *this);
  if (failed != 0 && failed != ESRCH) return Error{"process.signal", io_error(failed, "signalling", named).message};
  return Done{};
}

std::string process_space() { return name_of_space(); }

std::optional<bool> began_at(const ProcessRef& process, std::string_view mark) {
  const std::size_t end = process.started.find('@');  // only Linux adds a boot, and clients use the same notation there
  if (mark.empty() || end == std::string::npos || mark.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return std::string_view(process.started).substr(0, end) == mark;
}

}  // namespace inbox_poller::poller
